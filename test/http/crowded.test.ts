// New connections are not delayed by work in slices, nor by requests of others, however many connected before.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { createListener } from '../../src/http/connection/listener.ts'
import { createLog } from '../../src/log.ts'
import { type Steps, TimeSliceScheduler, yieldToEventLoop } from '../../src/shared/time-slices.ts'
import { inMostRounds } from '../helpers/patience.ts'

const CONNECTIONS = 200
const CALM_TURNS = 50

/** Work that may be delayed repeatedly, until it is declared done. */
function* working(step: () => boolean): Steps<void> {
  while (step()) {
    const until = performance.now() + 0.02
    while (performance.now() < until);
    yield
  }
}

/** Steps of work in a turn of the event loop, without and with many new connections. */
async function stepsInTurns(): Promise<{ calm: number; crowded: number }> {
  const server = createListener(createLog('silent')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let [steps, turns, isOver] = [0, 0, false]
  const work = new TimeSliceScheduler().run(
    'owner',
    working(() => {
      steps++
      return !isOver
    }),
  )
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  while (turns < CALM_TURNS) await yieldToEventLoop()
  const calm = steps / turns
  let taken = 0
  const all = Promise.withResolvers<void>()
  server.on('connection', () => {
    if (++taken === 1) [steps, turns] = [0, 0]
    if (taken === CONNECTIONS) all.resolve()
  })
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await all.promise
  const crowded = steps / turns
  isOver = true
  await work
  for (const socket of sockets) socket.destroy()
  server.close()
  return { calm, crowded }
}

test('while many connections are accepted, less work is done in each turn', async () => {
  await inMostRounds(async () => {
    const { calm, crowded } = await stepsInTurns()
    assert.ok(crowded < calm / 3, `${crowded} steps in a turn, and ${calm} where nobody connects`)
  })
})

const FLOODING = 60
const REQUESTS = 1_400
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
/** On Linux, all of 127.0.0.0/8 is loopback. */
const elsewhere = process.platform === 'linux' ? false : 'this machine has no second address of its own'

/** The number of flood requests that are served before a request from another address, which connects after all of them. */
async function beforeAnother(): Promise<number> {
  const server = createListener(createLog('silent')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let came = 0
  const { promise, resolve } = Promise.withResolvers<number>()
  server.on('request', ({ socket }, response) => {
    if (socket.remoteAddress === '127.0.0.2') resolve(came)
    came++
    response.end()
  })
  const flood = GET.repeat(REQUESTS)
  const sockets = Array.from({ length: FLOODING }, () =>
    connect(port, '127.0.0.1', function (this: Socket) {
      this.write(flood)
    }),
  )
  const another = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }, () => another.write(GET))
  const before = await promise
  for (const socket of [...sockets, another]) socket.on('error', () => {}).destroy()
  server.close()
  return before
}

test('in a flood from many connections, few are read before a client from another address', {
  skip: elsewhere,
}, async () => {
  await inMostRounds(async () => {
    const packets = (await beforeAnother()) / REQUESTS
    assert.ok(packets < FLOODING / 4, `${packets.toFixed(1)} packets came before`)
  })
})
