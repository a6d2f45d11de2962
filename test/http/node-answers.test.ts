// Answers to malformed request heads: an error with an id of its own, and nothing of the request in the log or on the terminal.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ErrorCode, errorCatalogue } from '../../generated/errors.ts'
import { schemaValidators } from '../../generated/validators-out.js'
import { inFolder } from '../helpers/folder.ts'
import { serve } from '../helpers/process.ts'
import { recordErrorCode } from '../helpers/reached.ts'
import { until } from '../helpers/server.ts'
import { peer } from './peer.ts'

const SECRET = 'not-to-be-written'
const POST =
  'POST /api/workflows HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'

const CASES: readonly [status: string, code: ErrorCode, sent: string][] = [
  ['400 Bad Request', 'INVALID_REQUEST', `${SECRET}\r\n\r\n`],
  ['400 Bad Request', 'INVALID_REQUEST', `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${SECRET}`],
  ['400 Bad Request', 'INVALID_REQUEST', `GET /${SECRET} HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n`],
  [
    '400 Bad Request',
    'INVALID_REQUEST',
    `POST /${SECRET} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ],
  [
    '431 Request Header Fields Too Large',
    'REQUEST_HEAD_TOO_LARGE',
    `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${SECRET.repeat(2_000)}\r\n\r\n`,
  ],
  [
    '431 Request Header Fields Too Large',
    'REQUEST_HEAD_TOO_LARGE',
    `GET /${SECRET.repeat(2_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ],
]

/** Each with the error format of its path. HTTP/1.0 has no Host header. */
const UNADDRESSED: readonly [isShaped: (body: unknown) => boolean, sent: string][] = [
  [schemaValidators.ApiError!, 'GET /health HTTP/1.1\r\n\r\n'],
  [schemaValidators.ApiError!, `GET /${SECRET} HTTP/1.1\r\n\r\n`],
  [schemaValidators.ApiError!, 'POST /api/workflows HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'],
  [schemaValidators.OpenAiError!, 'GET /v1/models HTTP/1.1\r\n\r\n'],
]

/** The head of these was read, so they get the errors of a malformed body. */
const BODIES: readonly [type: string, sent: string][] = [
  ['invalid_request', `${POST}1\r\nx${SECRET}\r\n`],
  ['request_too_large', `${POST}1;${SECRET.repeat(2_000)}\r\n`],
]

async function assertAnswered(folder: string): Promise<void> {
  await using server = await serve(folder, { SVC_LOG_LEVEL: 'trace' })
  const ids = new Set<string>()
  for (const [status, code, sent] of CASES) {
    using one = await peer(server, sent)
    await until('its end', one.closed)
    const [head, body] = one.text().split('\r\n\r\n')
    const [, length, id] =
      /^Connection: close\r\nContent-Type: application\/json; charset=utf-8\r\nContent-Length: (\d+)\r\nX-Request-Id: (req_\w+)$/.exec(
        head!.slice(head!.indexOf('\r\n') + 2),
      ) ?? []
    assert.equal(head!.split('\r\n', 1)[0], `HTTP/1.1 ${status}`, sent.slice(0, 80))
    assert.equal(Buffer.byteLength(body!), Number(length))
    const { error } = JSON.parse(body!) as { error: { type: string; code: number; message: string } }
    recordErrorCode({ error })
    assert.deepEqual([error.type, error.code], [errorCatalogue[code].type, Number(status.slice(0, 3))])
    assert.ok(schemaValidators.ApiError!({ error }), body)
    ids.add(id!)
  }
  assert.equal(ids.size, CASES.length)
  for (const [isShaped, sent] of UNADDRESSED) {
    using unaddressed = await peer(server, sent)
    await until('its answer', () => unaddressed.text().includes('no Host header'))
    assert.match(unaddressed.text(), /^HTTP\/1\.1 400 Bad Request\r\n.*X-Request-Id: req_\w+\r\n/s)
    assert.ok(isShaped(JSON.parse(unaddressed.text().split('\r\n\r\n')[1]!)), unaddressed.text())
  }
  using old = await peer(server, 'GET /health HTTP/1.0\r\n\r\n')
  await until('its answer', old.closed)
  assert.match(old.text(), /^HTTP\/1\.1 200 OK\r\n/)
  for (const [type, sent] of BODIES) {
    using one = await peer(server, sent)
    await until('its end', one.closed)
    assert.equal(JSON.parse(one.text().split('\r\n\r\n')[1]!).error.type, type)
  }
  using tunnel = await peer(server, `CONNECT ${SECRET}:80 HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await until('its end', tunnel.closed)
  assert.equal(tunnel.text(), '')
  server.kill('SIGTERM')
  const { code, stdout, stderr } = await server.ended()
  assert.equal(code, 0)
  assert.doesNotMatch(stdout + stderr, new RegExp(SECRET))
  for (const id of ids) assert.match(stdout + stderr, new RegExp(`"request_id":"${id}"`))
}

test('a malformed request gets an error, and is written nowhere', inFolder(assertAnswered))
