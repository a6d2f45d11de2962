// Concurrent writes, reads and deletes: a reader gets a whole version with its digests, and the state equals that of a model.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { StoredObject } from '../../generated/types.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { RawBody } from '../../src/http/body/raw-body.ts'
import { UploadStallDetector } from '../../src/net/upload-stall-detector.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import {
  etagOf,
  get,
  type Headers,
  objectRows,
  put,
  remove,
  type Shared,
  STORAGE,
  sha256Of,
  sharedServer,
  storeFiles,
} from './objects-kit.ts'
import { peer } from './peer.ts'
import { pattern } from './storage-kit.ts'

const MIB = 1 << 20

/** The bytes of a writer, each of another length. */
function textOf(writer: number): string {
  return `${writer} `.repeat(1_000 + writer)
}

test('a hundred concurrent writes of one key are each complete, and readers get one of them', async () => {
  await using server = await startServer()
  const writers = Array.from({ length: 100 }, (_, at) => at)
  const texts = new Map(writers.map((at) => [etagOf(textOf(at)), textOf(at)]))
  await put(server, '1/a', textOf(0))
  const state = { writing: true, reads: 0 }
  const reader = async () => {
    while (state.writing || state.reads === 0) {
      const { status, headers, text } = await get(server, '1/a')
      assert.equal(status, 200)
      assert.equal(text, texts.get(String(headers.etag)))
      assert.equal(headers['content-length'], String(text.length))
      state.reads += 1
    }
  }
  const reading = Promise.all([reader(), reader()])
  const answers = await Promise.all(writers.map((at) => put(server, '1/a', textOf(at))))
  state.writing = false
  await reading
  for (const [at, { status, body }] of answers.entries())
    assert.deepEqual([status, body.etag, body.size], [200, etagOf(textOf(at)), textOf(at).length])
  const row = server.context.assets.objects.find({ user_id: '1', workspace_id: null }, '1/a')!
  const { text, headers } = await get(server, '1/a')
  assert.deepEqual([headers.etag, row.sha256, row.size], [etagOf(text), sha256Of(text), text.length])
  assert.equal(objectRows(server).length, 1)
  assert.deepEqual(storeFiles(server).incoming, [])
})

test('a running download continues to its end when its object is replaced or deleted', async () => {
  const platform = clock()
  await using server = await startServer({ platform })
  const size = 24 * MIB
  for (const end of ['delete', 'replace']) {
    const { sha256 } = await sendPattern(server, '1/large', size)
    // Old enough for its bytes to be removed at once.
    platform.ms += 2 * HOUR
    const outgoing = send(`${server.url}${STORAGE}/1/large`, { agent: false })
    outgoing.end()
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    if (end === 'delete') assert.equal((await remove(server, '1/large')).status, 204)
    else assert.equal((await put(server, '1/large', 'small')).status, 200)
    assert.equal(storeFiles(server).kept.length, end === 'delete' ? 0 : 1)
    const hash = createHash('sha256')
    for await (const piece of incoming) hash.update(piece as Buffer)
    assert.equal(hash.digest('hex'), sha256)
    await remove(server, '1/large')
  }
})

test('pipelined requests are executed in order', async () => {
  await using server = await startServer()
  const ask = (method: string, body = '') =>
    `${method} ${STORAGE}/1/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const says = [ask('PUT', 'first'), ask('GET'), ask('PUT', 'second'), ask('GET'), ask('DELETE'), ask('GET')]
  using one = await peer(server, says.join(''))
  const seen = () => one.text().match(/HTTP\/1\.1 \d+|^first|^second/gm) ?? []
  await until('all answers', () => seen().length === 8)
  const answers = [201, '200 first', 200, '200 second', 204, 404]
  assert.deepEqual(
    seen(),
    answers.flatMap((one) => `HTTP/1.1 ${one}`.split(/ (?=[a-z])/)),
  )
  assert.deepEqual(objectRows(server), [])
})

test('no request is executed after the last answer of a connection', async () => {
  await using server = await startServer()
  await put(server, '1/a', 'kept')
  const refused = `PUT ${STORAGE}/2/a HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nHello`
  using one = await peer(server, `${refused}DELETE ${STORAGE}/1/a HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await until('its end', one.closed)
  assert.match(one.text(), /^HTTP\/1\.1 404 .*\r\nConnection: close\r\n/s)
  assert.equal(one.text().split('HTTP/1.1').length, 2)
  assert.equal((await get(server, '1/a')).text, 'kept')
})

/** Stores bytes that were never in memory together. */
async function sendPattern(server: TestServer, key: string, size: number): Promise<StoredObject> {
  const outgoing = send(`${server.url}${STORAGE}/${key}`, {
    method: 'PUT',
    agent: false,
    headers: { 'Content-Length': size },
  })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  for await (const piece of pattern(size)) if (!outgoing.write(piece)) await once(outgoing, 'drain')
  outgoing.end()
  const [incoming] = await answered
  const stored = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as StoredObject
  assert.deepEqual([incoming.statusCode, stored.size], [201, size])
  return stored
}

test('a body is received no faster than it is read, with little buffered', async () => {
  const opened = Promise.withResolvers<RawBody>()
  const server = createServer((incoming) =>
    opened.resolve(
      new RawBody(incoming, {
        largest: 1_000 * MIB,
        pace: new UploadStallDetector(),
        md5: null,
        confirm: async () => {},
      }),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = send({ port, host: '127.0.0.1', method: 'PUT' })
  const hash = createHash('sha256')
  outgoing.on('error', () => {})
  for await (const piece of pattern(40 * MIB)) {
    hash.update(piece)
    outgoing.write(piece)
  }
  outgoing.end()
  try {
    using body = await opened.promise
    const pieces = body.bytes()
    const read = createHash('sha256').update((await pieces.next()).value!)
    // All bytes that can come have come meanwhile: most stay with the sender.
    let rounds = 0
    await until('the sender to wait', () => outgoing.writableLength > 20 * MIB && ++rounds > 40)
    let largest = 0
    for await (const piece of pieces) {
      largest = Math.max(largest, piece.length)
      read.update(piece)
    }
    assert.ok(largest < 2 * MIB, `${largest} bytes waited`)
    assert.equal(read.digest('hex'), hash.digest('hex'))
  } finally {
    outgoing.destroy()
    server.closeAllConnections()
    server.close()
  }
})

const OWNERS: readonly OwnerScope[] = [
  { user_id: 'ada', workspace_id: null },
  { user_id: 'ada', workspace_id: 'w' },
  { user_id: 'bob', workspace_id: null },
]

interface Step {
  readonly who: number
  readonly segment: string
  readonly temporary: boolean
  readonly name: string
  readonly what: 'put' | 'get' | 'delete'
  readonly content: string
  readonly condition: 'none' | 'absent' | 'any' | 'of the content' | 'of another'
}

const step: fc.Arbitrary<Step> = fc.record({
  who: fc.nat(OWNERS.length - 1),
  segment: fc.constantFrom('ada', 'bob'),
  temporary: fc.boolean(),
  name: fc.constantFrom('a', 'b/c', 'asset_a'),
  what: fc.constantFrom('put', 'put', 'get', 'delete'),
  content: fc.constantFrom('', 'one', 'two', 'three'),
  condition: fc.constantFrom('none', 'none', 'absent', 'any', 'of the content', 'of another'),
})

/** The headers of a condition, and whether the condition holds for the present object. */
function conditionOf({ condition, content }: Step, present: string | undefined): [headers: Headers, holds: boolean] {
  if (condition === 'absent') return [{ 'If-None-Match': '*' }, present === undefined]
  if (condition === 'any') return [{ 'If-Match': '*' }, present !== undefined]
  if (condition === 'of the content') return [{ 'If-Match': etagOf(content) }, present === content]
  if (condition === 'of another') return [{ 'If-Match': '"another"' }, false]
  return [{}, true]
}

describe('for random operations of users,', () => {
  let shared: Shared
  let callers: Headers[]
  before(async () => {
    shared = await sharedServer()
    callers = await Promise.all(OWNERS.map((scope) => shared.as(scope)))
  })
  after(() => shared[Symbol.asyncDispose]())

  /** Executes a step, and compares the answer with the model. */
  async function take(model: Map<string, string>, folder: string, one: Step): Promise<void> {
    const { who, segment, temporary, name, what, content } = one
    const { server } = shared
    const base = temporary ? `temp/${segment}` : segment
    // Keys of assets are directly below the user: this key is taken, and stays without an object.
    const key = name === 'asset_a' && !temporary ? `${base}/${name}` : `${base}/${folder}/${name}`
    const at = `${who} ${key}`
    const present = model.get(at)
    const own = OWNERS[who]!.user_id === segment
    const [headers, holds] = conditionOf(one, present)
    const asked = { ...callers[who]!, ...headers }
    if (what === 'put') {
      const { status, body } = await put(server, key, content, asked)
      const taken = key === `${base}/asset_a`
      const changed = present === undefined ? 201 : 200
      assert.equal(status, own ? (taken ? 409 : holds ? changed : 412) : 404, JSON.stringify(one))
      if (status > 201) return
      assert.deepEqual([body.etag, body.key], [etagOf(content), key])
      model.set(at, content)
    } else if (what === 'delete') {
      const { status } = await remove(server, key, asked)
      assert.equal(status, own ? (holds ? 204 : 412) : 404, JSON.stringify(one))
      if (status === 204) model.delete(at)
    } else {
      const { status, text, headers: told } = await get(server, key, callers[who]!)
      assert.equal(status, present === undefined ? 404 : 200, JSON.stringify(one))
      if (present !== undefined) assert.deepEqual([text, told.etag], [present, etagOf(present)])
    }
  }

  test('each user finds the last written object, and nothing of other users', async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const model = new Map<string, string>()
        const folder = `run-${++runs}`
        for (const one of steps) await take(model, folder, one)
        for (const [at, content] of model) {
          const [who, key] = [Number(at.split(' ')[0]), at.slice(at.indexOf(' ') + 1)]
          assert.equal((await get(shared.server, key, callers[who]!)).text, content)
        }
        const rows = objectRows(shared.server).filter(({ storage_key }) => storage_key.includes(`/${folder}/`))
        assert.equal(rows.length, model.size)
        assert.deepEqual(storeFiles(shared.server).incoming, [])
      }),
      { numRuns: scaled(8) },
    )
  })
})
