// Bodies that end early or are malformed: the client gets one answer in the error format of the path, and the connection ends.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { schemaValidators } from '../../../generated/validators-out.js'
import { createListener, type ListenerLimits } from '../../../src/http/connection/listener.ts'
import { createLog } from '../../../src/log.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { type Peer, peer } from '../peer.ts'
import { FORM_TYPE, partHead, temporaryFiles, UPLOADS } from '../uploads-kit.ts'

const head = (asked: string, ...more: string[]) =>
  [`${asked} HTTP/1.1`, 'Host: localhost', ...more, '', ''].join('\r\n')
const JSON_TYPE = 'Content-Type: application/json'
const CHUNKED = 'Transfer-Encoding: chunked'

/** The bytes that are sent, and the end; each with the head and the body of the answer. */
async function answers(one: Peer): Promise<[head: string, body: string][]> {
  await until('its end', one.closed)
  return one
    .text()
    .split(/(?=HTTP\/1\.1 )/)
    .map((text) => text.split('\r\n\r\n') as [string, string])
}

/** Asserts a single answer: 400 with an id in this format, the last of its connection. */
async function refused(one: Peer, schema: 'ApiError' | 'SdkError', message: string): Promise<void> {
  const [first, ...others] = await answers(one)
  assert.deepEqual(others, [])
  const [said, body] = first!
  assert.match(said, /^HTTP\/1\.1 400 /)
  for (const header of [/^X-Request-Id: \S+$/im, /^Connection: close$/im, /^Content-Type: application\/json/im])
    assert.match(said, header)
  assert.ok(schemaValidators[schema](JSON.parse(body)), body)
  assert.deepEqual(JSON.parse(body).error.problems, [{ path: '/body', message }])
}

const NO_CODING = 'does not match its transfer coding'

describe('a body', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server[Symbol.asyncDispose]())

  const form = [`${partHead()}Hello`, `Content-Type: ${FORM_TYPE}`] as const
  for (const [what, asked, schema, [body, type]] of [
    ['in JSON', 'POST /api/workflows', 'ApiError', ['{"name":', JSON_TYPE]],
    ['of the lifecycle profile', 'POST /api/sdk/v1/preflight', 'SdkError', ['{}', JSON_TYPE]],
    ['with a file', `POST ${UPLOADS}`, 'SdkError', form],
  ] as const) {
    test(`${what} that ends before its length is answered`, async () => {
      using one = await peer(server, head(asked, type, 'Content-Length: 1000') + body)
      one.socket.end()
      await refused(one, schema, 'was cut off')
    })

    test(`${what} in malformed chunks is answered`, async () => {
      using one = await peer(server, head(asked, type, CHUNKED))
      one.socket.write(`${body.length.toString(16)}\r\n${body}\r\nzz\r\n`)
      await refused(one, schema, NO_CODING)
    })
  }

  test('that breaks off leaves no file behind', async () => {
    using one = await peer(server, head(`POST ${UPLOADS}`, form[1], 'Content-Length: 100000'))
    one.socket.end(`${form[0]}${'x'.repeat(20_000)}`)
    await refused(one, 'SdkError', 'was cut off')
    await until('nothing to be left', () => temporaryFiles(server).length === 0)
  })

  test('that no handler reads does not change the answer', async () => {
    for (const [asked, status] of [
      ['GET /health', 200],
      ['POST /nowhere', 404],
    ] as const)
      for (const [length, body] of [
        ['Content-Length: 9', '{}'],
        [CHUNKED, 'zz\r\n'],
      ] as const) {
        using one = await peer(server, head(asked, JSON_TYPE, length) + body)
        if (length !== CHUNKED) one.socket.end()
        const all = await answers(one)
        assert.deepEqual(
          all.map(([said]) => said.slice(0, 12)),
          [`HTTP/1.1 ${status}`],
        )
      }
  })

  test('is checked only for authenticated callers', async () => {
    using one = await peer(server, head('POST /api/workflows', JSON_TYPE, 'X-Forwarded-For: 203.0.113.7', CHUNKED))
    one.socket.write('zz\r\n')
    const [[said] = [], ...others] = await answers(one)
    assert.match(said ?? '', /^HTTP\/1\.1 401 /)
    assert.deepEqual(others, [])
  })
})

/** A listener whose answers the test sends, in the order of the requests. */
async function withListener(
  run: (at: { url: string }, asked: ServerResponse[]) => Promise<void>,
  limits: Partial<ListenerLimits> = {},
): Promise<void> {
  const listener: Server = createListener(createLog('silent'), limits)
  const asked: ServerResponse[] = []
  listener.on('request', (_request, response) => asked.push(response))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  try {
    await run({ url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` }, asked)
  } finally {
    listener.close()
    listener.closeAllConnections()
  }
}

const GET = head('GET /')

test('the timeout of a body is not reported in the middle of an answer to another request', () =>
  withListener(
    async (at, asked) => {
      using one = await peer(at, `${GET}POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf`)
      await until('the first request', () => asked.length > 0)
      asked[0]!.write('begun')
      await until('its end', one.closed)
      assert.match(one.text(), /^HTTP\/1\.1 200 /)
      assert.equal(one.text().split('HTTP/1.1').length, 2, one.text())
    },
    { request_ms: 300, head_ms: 200, check_ms: 50 },
  ))

describe('malformed HTTP', () => {
  test('is not answered instead of earlier requests', () =>
    withListener(async (at, asked) => {
      using one = await peer(at, `${GET}${GET}NO REQUEST\r\n\r\n`)
      await until('both requests', () => asked.length === 2)
      asked[1]!.end('second')
      await until('more to be said', () => one.socket.write('and more'))
      asked[0]!.end('first')
      const all = await answers(one)
      assert.deepEqual(
        all.map(([said, body]) => [said.slice(0, 12), body]),
        [
          ['HTTP/1.1 200', 'first'],
          ['HTTP/1.1 200', 'second'],
        ],
      )
    }))

  test('cuts a running answer, which is recognizably incomplete', () =>
    withListener(async (at, asked) => {
      using one = await peer(at, GET)
      await until('the request', () => asked.length === 1)
      asked[0]!.write('half of it')
      await until('half of it', () => one.text().includes('half of it'))
      one.socket.write('NO REQUEST\r\n\r\n')
      const all = await answers(one)
      assert.equal(all.length, 1)
      assert.ok(!one.text().endsWith('0\r\n\r\n'))
    }))

  test('ends a connection without pending answers, without another answer to the last request', () =>
    withListener(async (at, asked) => {
      using one = await peer(at, head('POST /', 'Content-Length: 9'))
      await until('the request', () => asked.length === 1)
      asked[0]!.end('before its body')
      await until('the answer', () => one.text().includes('before its body'))
      one.socket.end('x')
      assert.equal((await answers(one)).length, 1)
    }))

  test('is answered only by 400 if no request was read', () =>
    withListener(async (at) => {
      using one = await peer(at, 'NO REQUEST\r\n\r\n')
      assert.match((await answers(one))[0]![0], /^HTTP\/1\.1 400 /)
    }))
})
