// Who is told of a body that has come to a halt, and when: a reader that has stopped is not held against its sender.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { UploadStallDetector } from '../../src/net/upload-stall-detector.ts'
import { until } from '../helpers/server.ts'

const WINDOW_MS = 10

/** A request whose body has begun to arrive. */
async function arriving(
  run: (request: IncomingMessage, sender: ReturnType<typeof send>) => Promise<void>,
): Promise<void> {
  const server = createServer()
  const requested = once(server, 'request')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sender = send({ port: (server.address() as AddressInfo).port, method: 'POST' }).on('error', () => {})
  sender.write('x'.repeat(10_000))
  try {
    const [request] = (await requested) as [IncomingMessage]
    await run(
      request.on('error', () => {}),
      sender,
    )
  } finally {
    sender.destroy()
    server.closeAllConnections()
    server.close()
  }
}

/** Several windows. */
async function windows(): Promise<void> {
  let passed = 0
  const timer = setInterval(() => {
    passed += 1
  }, WINDOW_MS)
  await until('some windows', () => passed > 6)
  clearInterval(timer)
}

test('a body is at a halt when it brings nothing, and its reader waits for it', () =>
  arriving(async (request) => {
    let halted = 0
    request.pause()
    const pace = new UploadStallDetector(WINDOW_MS)
    using _watched = pace.watch(request, () => {
      halted += 1
    })
    assert.ok(pace.isWatching(request.socket))
    await windows()
    assert.equal(halted, 0)
    request.resume()
    await until('the halt', () => halted > 0)
  }))

test('a body that is whole is at no halt, however long its reader takes with it', () =>
  arriving(async (request, sender) => {
    let halted = 0
    sender.end()
    request.resume()
    await once(request, 'end')
    const pace = new UploadStallDetector(WINDOW_MS)
    const watched = pace.watch(request, () => {
      halted += 1
    })
    await windows()
    watched[Symbol.dispose]()
    assert.equal(halted, 0)
    assert.ok(!pace.isWatching(request.socket))
  }))
