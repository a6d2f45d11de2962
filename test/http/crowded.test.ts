// Whoever connects is not kept waiting by work in slices, however many connect before.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { createListener } from '../../src/http/listener.ts'
import { createLog } from '../../src/log.ts'
import { nextTurn, type Steps, TimeSlices } from '../../src/time-slices.ts'
import { inMostRounds } from '../helpers/patience.ts'

const CONNECTIONS = 200
const CALM_TURNS = 50

/** Work that may be put off again and again, until it is said to be over. */
function* working(step: () => boolean): Steps<void> {
  while (step()) {
    const until = performance.now() + 0.02
    while (performance.now() < until);
    yield
  }
}

/** How many steps of work are done in a turn of the event loop, while nobody connects and while many do. */
async function stepsInTurns(): Promise<{ calm: number; crowded: number }> {
  const server = createListener(createLog('silent')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let [steps, turns, isOver] = [0, 0, false]
  const work = new TimeSlices().run(
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
  while (turns < CALM_TURNS) await nextTurn()
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

test('while many connections are taken, less work is done in each turn', async () => {
  await inMostRounds(async () => {
    const { calm, crowded } = await stepsInTurns()
    assert.ok(crowded < calm / 3, `${crowded} steps in a turn, and ${calm} where nobody connects`)
  })
})
