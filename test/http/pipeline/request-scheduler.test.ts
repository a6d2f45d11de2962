// Requests in a turn of the event loop: they wait when the turn is used, and owners take turns.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import express from 'express'
import { createJsonBodyParser, takeLargeBody } from '../../../src/http/body/json-body.ts'
import { RequestScheduler } from '../../../src/http/pipeline/request-scheduler.ts'
import { recordIncomingConnection } from '../../../src/shared/time-slices.ts'
import { until } from '../../helpers/server.ts'

/** Longer than the share of requests in a turn. */
function work(): void {
  const until = performance.now() + 15
  while (performance.now() < until);
}

/** A scheduler, and the names of the requests that continued. Each uses a turn. */
function noted() {
  const line = new RequestScheduler()
  const went: string[] = []
  const enter = (owner: string, name: string) =>
    line.schedule(owner, () => {
      went.push(name)
      work()
    })
  return { line, went, enter }
}

test('requests continue at once as long as the turn is not used', () => {
  const line = new RequestScheduler()
  const went: number[] = []
  for (let at = 0; at < 5; at++) line.schedule('ada', () => went.push(at))
  assert.deepEqual(went, [0, 1, 2, 3, 4])
})

test('while connections keep coming in, requests get one turn of eight', async () => {
  const { went, enter } = noted()
  const wentAfter: number[] = []
  for (let at = 0; at < 20; at++) enter('ada', `a${at}`)
  for (let turns = 0; turns < 17; turns++) {
    recordIncomingConnection()
    if (turns > 0) wentAfter.push(went.length)
    await nextTurn()
  }
  assert.equal(wentAfter.at(-1)! - wentAfter[0]!, 2, wentAfter.join())
  await until('those that wait', () => went.length === 20)
})

test('while connections come in, many short requests continue in a turn of requests', async () => {
  const line = new RequestScheduler()
  let went = 0
  for (let turns = 0; turns < 4; turns++) {
    recordIncomingConnection()
    await nextTurn()
  }
  for (let at = 0; at < 60; at++) line.schedule(`owner ${at}`, () => went++)
  assert.equal(went, 0)
  let turns = 0
  for (; went < 60; turns++) {
    recordIncomingConnection()
    await nextTurn()
  }
  assert.ok(turns <= 24, `${turns} turns`)
})

test('a single connection delays no request', async () => {
  const { went, enter } = noted()
  await nextTurn()
  recordIncomingConnection()
  enter('ada', 'a1')
  assert.deepEqual(went, ['a1'])
})

test('when the turn is used, requests wait for turns of their own, by owner', async () => {
  const { line, went, enter } = noted()
  enter('ada', 'a1')
  assert.equal(line.isUsed(), true)
  for (const name of ['a2', 'a3', 'a4']) enter('ada', name)
  enter('bob', 'b1')
  assert.deepEqual(went, ['a1'])
  const seen: number[] = []
  while (went.length < 5) {
    await nextTurn()
    seen.push(went.length)
  }
  assert.deepEqual(went, ['a1', 'a2', 'b1', 'a3', 'a4'])
  assert.deepEqual(seen, [2, 3, 4, 5])
})

test('a request waits for an earlier one of its owner, and other owners come in between', async () => {
  const { line, went, enter } = noted()
  line.schedule('ada', work)
  for (const name of ['a1', 'a2', 'a3']) enter('ada', name)
  await nextTurn()
  enter('ada', 'a4')
  enter('bob', 'b1')
  assert.deepEqual(went, ['a1'])
  while (went.length < 5) await nextTurn()
  assert.deepEqual(went, ['a1', 'a2', 'b1', 'a3', 'a4'])
})

test('many short requests continue in one turn', async () => {
  const line = new RequestScheduler()
  let went = 0
  line.schedule('ada', work)
  for (let at = 0; at < 100; at++) line.schedule('ada', () => went++)
  const seen: number[] = []
  while (went < 100) {
    await nextTurn()
    seen.push(went)
  }
  assert.ok(seen.length < 10, String(seen))
})

test('few requests whose work follows a promise continue in one turn', async () => {
  const line = new RequestScheduler()
  let went = 0
  line.schedule('ada', work)
  for (let at = 0; at < 30; at++)
    line.schedule('ada', () => {
      went++
      void Promise.resolve().then(work)
    })
  const seen: number[] = []
  while (went < 30) {
    const before = went
    await nextTurn()
    seen.push(went - before)
  }
  assert.ok(Math.max(...seen) <= 2, String(seen))
})

test('a body of middling size is validated in the worker if others have used the turn', async () => {
  let used = false
  const app = express()
  app.post('/', createJsonBodyParser({ isUsed: () => used }, 1_000_000), (request, response) => {
    response.json(takeLargeBody(request)?.length ?? null)
  })
  const server = app.listen(0, '127.0.0.1')
  try {
    const { port } = await new Promise<AddressInfo>((resolve) =>
      server.once('listening', () => resolve(server.address() as AddressInfo)),
    )
    const keptBytes = async (length: number) => {
      const body = JSON.stringify('x'.repeat(length - 2))
      const headers = { 'Content-Type': 'application/json' }
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })).json()
    }
    assert.deepEqual([await keptBytes(4_000), await keptBytes(10_000), await keptBytes(300_000)], [null, null, 300_000])
    used = true
    assert.deepEqual([await keptBytes(4_000), await keptBytes(10_000)], [null, 10_000])
  } finally {
    server.close()
  }
})
