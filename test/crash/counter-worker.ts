// The thread of the witness. `workerData` is the seed.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { sha256 } from '../../src/shared/hashes.ts'
import { yieldToEventLoop } from '../../src/shared/time-slices.ts'
import { answerTo, type FromCounter, type Method, NOTHING, TELL } from './counter.ts'
import { largeOf } from './large.ts'

/** The longest delay of an answer in milliseconds. */
const SLOWEST: Readonly<Record<Method, number>> = { GET: 500, PUT: 250, POST: 250 }

const tell = (message: FromCounter) => parentPort!.postMessage(message)

/** The interval of clock checks in milliseconds. */
const LOOK_EVERY_MS = 20
/** The last two clock checks. Timers run before sockets, even after a long wait for a processor. */
let [before, last] = [Date.now(), Date.now()]
setInterval(() => {
  before = last
  last = Date.now()
}, LOOK_EVERY_MS)

/** How often each path has been called. */
const times = new Map<string, number>()
let calls = 0

// Idle connections stay open. Closing one while a call is on its way would fail an unsafe call.
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const { method, url: path } = request as { method: Method; url: string }
  if (path === NOTHING) {
    response.end()
    return
  }
  const number = calls++
  tell({ kind: 'begun', call: { method, path, begun_at: Date.now(), since: before, ended_at: null } })
  response.on('finish', () => tell({ kind: 'ended', number, at: Date.now() }))
  request.resume()
  const earlier = times.get(path) ?? 0
  times.set(path, earlier + 1)
  setTimeout(() => answer(response, method, path, earlier), waitOf(method, path, earlier))
})

/**
 * Delays differ between calls, and are the same for the same call in each run with this
 * seed. Every fourth call, and each `/quick/` call, is answered at once.
 */
function waitOf(method: Method, path: string, earlier: number): number {
  if (path.includes('/quick/')) return 0
  const [first, second] = Buffer.from(sha256(`${workerData} ${path} ${earlier}`), 'hex')
  return first! % 4 === 0 ? 0 : (second! / 255) * SLOWEST[method]
}

/** `/fail/` always fails, `/flaky/` fails the first time, and `/big/` has a large answer. */
function answer(response: ServerResponse, method: Method, path: string, earlier: number): void {
  const fails = path.includes('/fail/') || (path.includes('/flaky/') && earlier === 0)
  response.writeHead(fails ? 500 : 200, { 'content-type': 'text/plain' })
  const text = answerTo(method, path)
  response.end(fails ? 'no' : path.includes('/big/') ? largeOf(text) : text)
}

parentPort!.on('message', async (message) => {
  if (message !== TELL) return
  await yieldToEventLoop()
  tell({ kind: 'told' })
})

server.listen(0, '127.0.0.1', () => tell({ kind: 'listens', port: (server.address() as AddressInfo).port }))
