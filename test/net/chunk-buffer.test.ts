// Pieces that are kept are few, in whatever pieces a body comes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ChunkBuffer } from '../../src/net/chunk-buffer.ts'

describe('pieces that are kept', () => {
  test('of a byte each become few', () => {
    const kept = new ChunkBuffer()
    const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at)
    for (const byte of bytes) kept.add(Uint8Array.of(byte))
    assert.ok(kept.chunks().length < 200, `${kept.chunks().length} pieces`)
    assert.deepEqual(Buffer.concat(kept.chunks()), Buffer.from(bytes))
  })

  test('of all sizes keep their order, and large ones are not copied', () => {
    const kept = new ChunkBuffer()
    const pieces = Array.from({ length: 50 }, (_, at) => Buffer.alloc((at * 701) % 3_000, at))
    for (const piece of pieces) kept.add(piece)
    assert.deepEqual(Buffer.concat(kept.chunks()), Buffer.concat(pieces))
    for (const piece of pieces) if (piece.length > 1_024) assert.ok(kept.chunks().includes(piece))
  })

  test('are none of none', () => {
    assert.deepEqual(new ChunkBuffer().chunks(), [])
  })
})
