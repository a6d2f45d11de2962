// The suite ends whatever the server does: an answer that never ends, one without measure, a socket that is silent, and a judgement that is
// told to stop in the middle of it.
import assert from 'node:assert/strict'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, test } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { ServerUnreachableError, SuiteStoppedError } from '../../../src/conformance/server/check-outcomes.ts'
import { runServerSuite } from '../../../src/conformance/server/suite.ts'
import { TargetServer } from '../../../src/conformance/server/target-server.ts'
import { formatServerReport, REPORT_FORMATS } from '../../../src/conformance/server-report.ts'
import { withMoreTime } from '../../helpers/patience.ts'

const LONG_MS = 600_000
const NEVER = new AbortController().signal

/** A server of its own that answers as it is told; `asked` rings at the first request that is no document. */
async function serving(answer: RequestListener, upgrade: 'silent' | 'dripping' | 'chatty' = 'silent') {
  const first = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    answer(request, response)
    if (!isDocument(request.url)) first.resolve()
  })
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (upgrade === 'silent')
      sockets.handleUpgrade(request, socket, head, (ws) => ws.on('message', () => first.resolve()))
    else if (upgrade === 'chatty') sockets.handleUpgrade(request, socket, head, chatter)
    else dripRefusal(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: first.promise,
    async [Symbol.asyncDispose]() {
      for (const ws of sockets.clients) ws.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function isDocument(path: string | undefined): boolean {
  return path === '/openapi.json' || path === '/asyncapi.json'
}

/** A byte at a time, for ever. */
function drip(response: ServerResponse, type: string, piece: string): void {
  response.writeHead(200, { 'Content-Type': type })
  const timer = setInterval(() => response.write(piece), 20)
  response.on('close', () => clearInterval(timer))
}

/** Frames without end, as fast as they are taken. */
function chatter(ws: WebSocket): void {
  const frame = JSON.stringify({ text: 'x'.repeat(8 * 1024 * 1024) })
  const more = () => void (ws.readyState === ws.OPEN && ws.send(frame, more))
  ws.on('error', () => {})
  more()
}

function dripRefusal(socket: Duplex): void {
  socket.write('HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\n\r\n')
  const timer = setInterval(() => socket.write(' '), 20)
  socket.on('error', () => {})
  socket.on('close', () => clearInterval(timer))
}

const dripping: RequestListener = ({ url }, response) => {
  if (isDocument(url)) response.writeHead(404).end()
  else drip(response, 'application/json', ' ')
}

function judging(url: string, only: string, timeout_ms: number, stop: AbortSignal = NEVER) {
  return runServerSuite({ url, token: null, profile: 'full', timeout_ms, only: [only], stop })
}

describe('an answer that never ends', () => {
  test('fails what asked for it', async () => {
    // What comes before it has to come in time.
    await withMoreTime(200, async (ms) => {
      await using server = await serving(dripping)
      const { requirements } = await judging(server.url, 'server.capabilities.record', ms)
      assert.deepEqual(
        requirements.map(({ verdict }) => verdict),
        ['fail'],
      )
      assert.match(String(requirements[0]!.reason), new RegExp(`no complete answer within ${ms} ms`))
    })
  })

  test('makes a server whose documents are like that none that could be judged', async () => {
    await using server = await serving((_request, response) => drip(response, 'application/json', ' '))
    await assert.rejects(judging(server.url, 'server.capabilities.record', 200), ServerUnreachableError)
  })

  test('is no stream of events that could be followed', async () => {
    await using server = await serving((_request, response) => drip(response, 'text/event-stream', ': still here\n\n'))
    using target = new TargetServer({ url: server.url, token: null, timeout_ms: 50, stop: NEVER })
    await assert.rejects(target.readEvents('/events', {}), /no complete answer within 200 ms/)
  })

  test('is no refusal of an upgrade', async () => {
    await withMoreTime(200, async (ms) => {
      await using server = await serving(dripping, 'dripping')
      const { requirements } = await judging(server.url, 'server.access.refused-upgrade', ms)
      assert.match(String(requirements[0]!.reason), new RegExp(`no complete refusal within ${ms} ms`))
    })
  })
})

test('an answer without measure is cut off', async () => {
  await using server = await serving((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, ' ')));
    }
    response.on('drain', more)
    more()
  })
  using target = new TargetServer({ url: server.url, token: null, timeout_ms: LONG_MS, stop: NEVER })
  await assert.rejects(target.send('GET', '/'), /an answer of more than \d+ bytes/)
})

test('answers without measure in all are not kept', async () => {
  const piece = JSON.stringify({ text: 'x'.repeat(24 * 1024 * 1024) })
  await using server = await serving((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(piece)
  })
  using target = new TargetServer({ url: server.url, token: null, timeout_ms: LONG_MS, stop: NEVER })
  for (let times = 0; times < 5; times++) await target.send('GET', '/')
  await assert.rejects(target.send('GET', '/'), /answers and frames of more than \d+ bytes together/)
  await assert.rejects(target.send('GET', '/'), /answers and frames of more than \d+ bytes together/)
  target.clearKept()
  assert.equal((await target.send('GET', '/')).status, 200)
})

test('a socket that says too much is left', async () => {
  await using server = await serving(dripping, 'chatty')
  const { requirements } = await judging(server.url, 'server.socket.messagepack-first', LONG_MS)
  assert.match(String(requirements[0]!.reason), /answers and frames of more than \d+ bytes together/)
})

test('an answer that is nested too deep is none, and the report can be written', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  await using server = await serving(({ url }, response) => {
    if (isDocument(url)) response.writeHead(404).end()
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end(deep)
  })
  const report = await judging(server.url, 'server.capabilities.record', LONG_MS)
  assert.deepEqual(
    report.requirements.map(({ verdict }) => verdict),
    ['fail'],
  )
  for (const format of REPORT_FORMATS) assert.ok(formatServerReport(report, format).length < 100_000)
})

test('a server that asks to wait for ever is waited for once', async () => {
  let asked = 0
  await using server = await serving((_request, response) => {
    asked++
    response.writeHead(429, { 'Retry-After': '0' }).end()
  })
  using target = new TargetServer({ url: server.url, token: null, timeout_ms: LONG_MS, stop: NEVER })
  for (let times = 0; times < 5; times++) assert.equal((await target.send('GET', '/')).status, 429)
  assert.equal(asked, 4 + 4)
})

describe('a judgement that is stopped', () => {
  const cases = {
    'while an answer drips': 'server.capabilities.record',
    'while a socket is silent': 'server.socket.both-encodings-in',
  }
  for (const [name, only] of Object.entries(cases)) {
    test(`${name} ends at once, and says nothing of what it left`, async () => {
      await using server = await serving(dripping)
      const stop = new AbortController()
      const report = judging(server.url, only, LONG_MS, stop.signal)
      await server.asked
      stop.abort('SIGTERM')
      assert.deepEqual((await report).requirements, [])
    })
  }

  test('before it knows what is claimed ends as well', async () => {
    await using server = await serving((_request, response) => drip(response, 'application/json', ' '))
    const stop = new AbortController()
    const report = judging(server.url, 'server.http', LONG_MS, stop.signal)
    stop.abort('SIGTERM')
    assert.deepEqual((await report).requirements, [])
  })

  test('sends nothing any more', async () => {
    await using server = await serving(dripping)
    using target = new TargetServer({ url: server.url, token: null, timeout_ms: LONG_MS, stop: AbortSignal.abort() })
    await assert.rejects(target.send('GET', '/'), SuiteStoppedError)
  })
})
