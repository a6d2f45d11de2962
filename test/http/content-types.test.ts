// Content types that callers invent: none stays in memory, and none takes long to parse.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldBytes } from '../helpers/heap.ts'
import { call } from '../helpers/http.ts'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { startServer } from '../helpers/server.ts'

/** The longest possible header, with space for the others. */
const LONG = 15_000
const TYPES = 100
/** A cached type would have at least this many bytes. */
const LEAST = 2 * LONG

test('content types of requests do not stay in memory', async () => {
  await using server = await startServer()
  for (const [method, path, status] of [
    ['GET', '/docs/none', 404],
    ['POST', '/api/workflows', 400],
  ] as const) {
    const ask = async (at: number) => {
      const headers = { 'Content-Type': `application/json; a=${String(at).padStart(LONG, 'x')}` }
      const answer = await call(server, method, path, { headers, ...(method === 'POST' ? { body: {} } : {}) })
      assert.equal(answer.status, status, answer.text.slice(0, 300))
    }
    const heap = async (from: number) => {
      for (let at = from; at < from + TYPES; at++) await ask(at)
      return heldBytes()
    }
    const before = await heap(0)
    const stayed = (await heap(TYPES)) - before
    assert.ok(stayed < (TYPES * LEAST) / 2, `${method} ${path}: ${stayed} bytes`)
  }
})

/** Milliseconds of CPU time. */
const LONGEST_TURN = 75

const ofPart = (type: string) =>
  `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: ${type}\r\n\r\na\r\n--x--\r\n`

test('no content type of a request or a part takes long to parse', async () => {
  await using server = await startServer()
  for (const [path, type, body, status] of [
    ['/api/workflows', `application/json${';'.repeat(LONG)}`, '{}', 400],
    ['/api/assets', `multipart/form-data;${' '.repeat(LONG)}x`, '', 400],
    ['/api/assets', 'multipart/form-data; boundary=x', ofPart(`a/b${' '.repeat(LONG)}c`), 201],
  ] as const)
    await inMostRounds(async () => {
      const took = await longestTurn(async () => {
        const headers = { 'Content-Type': type }
        const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
        assert.equal(answer.status, status, await answer.text())
      })
      assert.ok(took < mostMs(took, LONGEST_TURN), `${took} ms for ${type.slice(0, 40)}`)
    })
})
