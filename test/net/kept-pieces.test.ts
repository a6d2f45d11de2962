// Pieces that are kept are few, in whatever pieces a body comes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KeptPieces } from '../../src/net/kept-pieces.ts'

describe('pieces that are kept', () => {
  test('of a byte each become few', () => {
    const kept = new KeptPieces()
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at)
    for (const byte of bytes) kept.add(Uint8Array.of(byte))
    assert.ok(kept.all().length < 200, `${kept.all().length} pieces`)
    assert.deepEqual(Buffer.concat(kept.all()), Buffer.from(bytes))
  })

  test('of all sizes keep their order, and large ones are not copied', () => {
    const kept = new KeptPieces()
    const pieces = Array.from({ length: 50 }, (_, at) => Buffer.alloc((at * 701) % 3_000, at))
    for (const piece of pieces) kept.add(piece)
    assert.deepEqual(Buffer.concat(kept.all()), Buffer.concat(pieces))
    for (const piece of pieces) if (piece.length > 1_024) assert.ok(kept.all().includes(piece))
  })

  test('are none of none', () => {
    assert.deepEqual(new KeptPieces().all(), [])
  })
})
