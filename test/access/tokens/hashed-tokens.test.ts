// Rows of tokens that are read while they change: a token that was revoked meanwhile is not kept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type HashedToken, HashedTokenStore } from '../../../src/access/tokens/hashed-tokens.ts'
import { systemPlatform } from '../../../src/platform.ts'

/** A store whose reads end when the test says so. */
function storeWithOpenReads() {
  const rows = new Map<string, HashedToken>()
  const reads: { id: string; end(): void; fail(error: Error): void }[] = []
  const tokens = new HashedTokenStore<HashedToken>('ntk', 'token', (id) => {
    const read = Promise.withResolvers<HashedToken | null>()
    const row = rows.get(id) ?? null
    reads.push({ id, end: () => read.resolve(row), fail: read.reject })
    return read.promise
  })
  const { id, token, digest } = tokens.generate(systemPlatform())
  rows.set(id, { digest, expires_at: null })
  return { tokens, rows, reads, id, token }
}

describe('while the row of a token is read', () => {
  test('a revocation makes the next use read it again', async () => {
    const { tokens, rows, reads, id, token } = storeWithOpenReads()
    const before = tokens.verify(token, 0)
    rows.delete(id)
    tokens.invalidate(id)
    const after = tokens.verify(token, 0)
    assert.equal(reads.length, 2)
    for (const read of reads) read.end()
    assert.notEqual(await before, null, 'this use began before the revocation')
    assert.equal(await after, null)
    const last = tokens.verify(token, 0)
    assert.ok(last instanceof Promise, 'nothing is cached')
    reads[2]!.end()
    assert.equal(await last, null)
  })

  test('further uses wait for the same read, and those after it read nothing', async () => {
    const { tokens, reads, token } = storeWithOpenReads()
    const uses = [1, 2, 3].map(() => tokens.verify(token, 0))
    assert.equal(reads.length, 1)
    reads[0]!.end()
    for (const kept of await Promise.all(uses)) assert.notEqual(kept, null)
    assert.ok(!(tokens.verify(token, 0) instanceof Promise))
  })

  test('an error is not kept', async () => {
    const { tokens, reads, token } = storeWithOpenReads()
    const failed = tokens.verify(token, 0)
    reads[0]!.fail(new Error('unreadable'))
    await assert.rejects(async () => await failed, /unreadable/)
    const again = tokens.verify(token, 0)
    reads[1]!.end()
    assert.notEqual(await again, null)
  })
})
