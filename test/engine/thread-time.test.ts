// Law 40 across runs: all runs of a process share the time of its thread, owner by owner.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import type { Steps } from '../../src/shared/time-slices.ts'
import { longestTurn } from '../helpers/loop.ts'
import { belowInSome } from '../helpers/patience.ts'
import { graph, item, node, outputs, planOf, sink, start, testType, withTypes } from './kit.ts'

const RUNS = 40
const TURNS = 40

/** Runs with endless work, until `work` is over. `items` counts the items of each. */
async function beside(owners: readonly string[], work: (items: readonly number[]) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const items = owners.map(() => 0)
  const runs = owners.map((owner, at) => {
    const forever = testType('test.Forever', {
      outputs: [item],
      *run() {
        for (;;) yield { item: items[at]!++ }
      },
    })
    const plan = planOf(graph([node('all', 'test.Forever')], []), withTypes(forever))
    const services = { ...noServices, owner }
    return executePlan(plan, { params: {}, signal: stop.signal, observer: silentObserver, services })
  })
  await work(items)
  stop.abort()
  for (const run of runs) assert.equal((await run.done).status, 'cancelled')
}

async function turns(): Promise<void> {
  for (let at = 0; at < TURNS; at++) await turn()
}

test('many runs hold the event loop no longer than one', async () => {
  const owners = Array.from({ length: RUNS }, () => 'ada')
  await belowInSome(100, () => longestTurn(() => beside(owners, turns)))
})

test('each owner gets the same time, however many runs it has', async () => {
  const owners = [...Array.from({ length: RUNS }, () => 'ada'), 'bob']
  await beside(owners, async (items) => {
    await turns()
    const before = [...items]
    await turns()
    const done = items.map((count, at) => count - before[at]!)
    const bob = done.pop()!
    const ada = done.reduce((sum, count) => sum + count, 0)
    assert.ok(bob > ada / 4, `${ada} items for Ada, ${bob} for Bob`)
    assert.ok(done.filter((count) => count > 0).length > TURNS / 4, 'only few of the runs of Ada went on')
  })
})

test('stepwise work of a firing gives the event loop its turns, and ends with its run', async () => {
  let steps = 0
  const stepping = testType('test.Stepping', {
    properties: [{ name: 'count', type: ANY_TYPE, required: true }],
    outputs: [{ name: 'output', type: ANY_TYPE }],
    async run({ count }, context) {
      const made = await context.inSlices(stepsOf(Number(count)))
      return { output: made }
    },
  })
  function* stepsOf(count: number): Steps<number> {
    for (let at = 0; at < count; at++) {
      const until = performance.now() + 1
      while (performance.now() < until);
      steps++
      yield
    }
    return count
  }
  const registry = withTypes(stepping)
  const of = (count: number) => graph([node('n', 'test.Stepping', { count }), sink('out')], ['n.output -> out.value'])
  assert.deepEqual(await outputs(of(30), registry), { out: [30] })
  const { execution, abort } = start(of(1e9), registry)
  for (const before = steps; steps < before + 30; ) await turn()
  abort.abort()
  assert.equal((await execution.done).status, 'cancelled')
  const ended = steps
  await turns()
  assert.equal(steps, ended)
})
