// Bodies that are validated in a worker and parsed in time slices get the same errors as small ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const FILLER = 'x'.repeat(300_000)
const graph = { nodes: [], edges: [] }

const ask = (server: TestServer, raw: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) =>
  call<ErrorBody>(server, 'POST', '/api/workflows', { raw, headers: { ...JSON_TYPE, ...headers } })

const node = (note: unknown) => ({ id: 'a', type: 'text.Trim', data: {}, note })
const valid = (filler: string) => ({ name: 'a', graph: { nodes: [node(filler)], edges: [] } })

/** Invalid bodies, by their fault. */
const WRONG: Readonly<Record<string, (filler: string) => string | Uint8Array>> = {
  'broken off': (filler) => JSON.stringify(valid(filler)).slice(0, -1),
  'no UTF-8': (filler) => Buffer.concat([Buffer.from(JSON.stringify(valid(filler))), Buffer.from([0xff])]),
  'nested too deep': (filler) => `{"name":"${filler}","graph":${'['.repeat(70)}${']'.repeat(70)}}`,
  'half a character': (filler) => JSON.stringify({ ...valid(filler), description: 'X' }).replace('X', '\\ud800'),
  'a mark of the byte order twice': (filler) => `\ufeff\ufeff${JSON.stringify(valid(filler))}`,
  'nothing but a text': (filler) => JSON.stringify(filler),
}

/** The position of a syntax error is searched only in short bodies. */
const withoutPlace = (body: unknown) =>
  JSON.parse(JSON.stringify(body).replaceAll(/(is not valid JSON\.) [^"]*\(line \d+, column \d+\)\./g, '$1'))

describe('a large body', () => {
  test('is refused with the message of a small body', async () => {
    await using server = await startServer()
    for (const [name, body] of Object.entries(WRONG)) {
      const [small, large] = [await ask(server, body('')), await ask(server, body(FILLER))]
      assert.equal(small.status, 400, name)
      assert.deepEqual([large.status, large.body], [small.status, withoutPlace(small.body)], name)
    }
  })

  test('is refused for its properties and its parameters at once', async () => {
    await using server = await startServer()
    const raw = JSON.stringify({ ...valid(FILLER), name: 5, surprise: 1 })
    const { status, body } = await call<ErrorBody>(server, 'POST', '/api/workflows?odd=1', { raw, headers: JSON_TYPE })
    assert.equal(status, 400)
    const paths = body.error.problems!.map(({ path }) => path).sort()
    assert.deepEqual(paths, ['/body/name', '/body/surprise', '/query/odd'])
  })

  test('gets a hundred problems, with a note that there are more', async () => {
    await using server = await startServer()
    for (const count of [100, 101, 50_000]) {
      const keys = Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 1]))
      const { status, body } = await ask(server, JSON.stringify({ name: 'a', graph, ...keys }))
      const { problems, message, more_problems } = body.error as ErrorBody['error'] & { more_problems?: boolean }
      assert.deepEqual([status, problems?.length, more_problems], [400, 100, count > 100 ? true : undefined])
      assert.match(message, count > 100 ? /\(and more than 99 more\)$/ : /\(and 99 more\)$/)
    }
  })

  test('with too many keys in one object is refused with the path of the object', async () => {
    await using server = await startServer()
    const keys = Object.fromEntries(Array.from({ length: 100_001 }, (_, at) => [`key${at}`, at]))
    const { status, body } = await ask(server, JSON.stringify({ name: 'a', graph: { nodes: [node(keys)], edges: [] } }))
    const problem = { path: '/body/graph/nodes/0/note', message: 'An object has at most 100,000 keys.' }
    assert.deepEqual([status, body.error.problems, body.error.message], [400, [problem], problem.message])
  })

  test('is accepted compressed, in chunks, and with a byte order mark', async () => {
    await using server = await startServer()
    const text = JSON.stringify(valid(FILLER))
    assert.equal((await ask(server, gzipSync(text), { 'Content-Encoding': 'gzip' })).status, 201)
    assert.equal((await ask(server, `\ufeff${text}`)).status, 201)
    const pieces = new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 50_000) controller.enqueue(Buffer.from(text.slice(at, at + 50_000)))
        controller.close()
      },
    })
    const options = { method: 'POST', body: pieces, headers: JSON_TYPE, duplex: 'half' as const }
    const answer = await fetch(`${server.url}/api/workflows`, options)
    assert.equal(answer.status, 201, await answer.text())
  })

  test('must be in UTF-8', async () => {
    await using server = await startServer()
    const headers = { 'Content-Type': 'application/json; charset=utf-16le' }
    const utf16 = (filler: string) => Buffer.from(JSON.stringify(valid(filler)), 'utf16le')
    assert.equal((await ask(server, utf16(''), headers)).status, 201)
    assert.equal((await ask(server, utf16(FILLER), headers)).status, 415)
  })

  test('keeps all values, the order of keys, and numeric keys', async () => {
    await using server = await startServer()
    const list = Array.from({ length: 30_000 }, (_, at) => ({
      at,
      7: at % 3 === 0,
      text: `ä€😀 "${at}"`,
      deep: [[[at]]],
    }))
    const sent = { nodes: [{ ...node({ list, ['z'.repeat(300_000)]: 1, last: -0.5e-7 }) }], edges: [] }
    const { status, body } = await call<{ graph: object }>(server, 'POST', '/api/workflows', {
      body: { name: 'a', graph: sent },
    })
    assert.equal(status, 201)
    assert.equal(JSON.stringify(body.graph), JSON.stringify(sent))
  })
})
