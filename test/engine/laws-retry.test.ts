// The law of retries, by a clock that the test sets.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import { NodeError, NonRetryableError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import {
  Gate,
  graph,
  HandClock,
  item,
  node,
  output,
  outputs,
  run,
  sink,
  start,
  testType,
  until,
  value,
  withTypes,
} from './kit.ts'

/** Fails so many times, then succeeds. */
class Shaky {
  attempts = 0
  readonly type: NodeType

  constructor(failures: number, cause: () => Error = () => new NodeError('not yet', 'busy')) {
    this.type = testType('test.Shaky', {
      properties: [value],
      outputs: [output],
      run: async ({ value: given }) => {
        if (this.attempts++ < failures) throw cause()
        return { output: given }
      },
    })
  }
}

const retrying = (retry: Record<string, unknown>) =>
  graph([node('shaky', 'test.Shaky', { value: 7, retry }), sink('out')], ['shaky.output->out.value'])

/** Advances the clock to each of the next sleeps and returns their lengths. */
async function pauses(clock: HandClock, over: () => boolean): Promise<number[]> {
  const given: number[] = []
  for (;;) {
    await until(() => over() || clock.sleepers.size > 0)
    if (over()) return given
    const [sleeper] = clock.sleepers
    given.push(sleeper!.until - clock.now())
    clock.turn(sleeper!.until - clock.now())
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('law 31: retries', () => {
  test('law 31: a firing is tried again until it succeeds, each pause twice as long', async () => {
    const clock = new HandClock()
    const shaky = new Shaky(3)
    const { execution } = start(retrying({ attempts: 5, backoff_ms: 100 }), withTypes(shaky.type), { clock })
    assert.deepEqual(await pauses(clock, () => execution.outcome !== null), [100, 200, 400])
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [7] } })
    assert.equal(shaky.attempts, 4)
  })

  test('law 31: the pause is a second by default, and five minutes at most', async () => {
    const clock = new HandClock()
    const shaky = new Shaky(100)
    const { execution } = start(retrying({ attempts: 12 }), withTypes(shaky.type), { clock })
    const given = await pauses(clock, () => execution.outcome !== null)
    assert.deepEqual([given[0], given[1], given.at(-1), given.length], [1000, 2000, 300_000, 11])
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'busy')
    assert.equal(shaky.attempts, 12)
  })

  test('law 31: the pause holds no concurrency permit', async () => {
    const clock = new HandClock()
    const gate = new Gate()
    const of = graph(
      [
        node('shaky', 'test.Shaky', { value: 7, retry: { attempts: 2 } }),
        node('slow', 'test.Gate', { value: 1 }),
        sink('out'),
      ],
      ['shaky.output->out.value'],
    )
    const { execution } = start(of, withTypes(new Shaky(1).type, gate.type), { clock, concurrency: 1 })
    await until(() => clock.sleepers.size === 1 && gate.waiting.length === 1)
    gate.waiting[0]!.open()
    clock.turn(1000)
    assert.equal((await execution.done).status, 'completed')
  })

  test('law 31: a cancel ends the pause', async () => {
    const clock = new HandClock()
    const { execution, abort } = start(retrying({ attempts: 5 }), withTypes(new Shaky(9).type), { clock })
    await until(() => clock.sleepers.size === 1)
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.equal(clock.sleepers.size, 0)
  })

  test('law 31: only errors of the code are retried, not an invalid output or a value that does not fit', async () => {
    let fired = 0
    const bad = testType('test.Shaky', {
      properties: [value],
      outputs: [output],
      run: async () => {
        fired++
        return { undeclared: 1 }
      },
    })
    const outcome = await run(retrying({ attempts: 5, backoff_ms: 0 }), withTypes(bad))
    assert.deepEqual([outcome.status, fired], ['failed', 1])
  })

  test('law 31: a stream is tried again only as long as none of its items was given', async () => {
    for (const [before, attempts] of [
      [0, 3],
      [1, 1],
    ] as const) {
      let fired = 0
      const stream = testType('test.Stream', {
        outputs: [item],
        async *run() {
          fired++
          for (let at = 0; at < before; at++) yield { item: at }
          throw new NodeError('broken')
        },
      })
      const of = graph([node('s', 'test.Stream', { retry: { attempts: 3, backoff_ms: 0 } })], [])
      const outcome = await run(of, withTypes(stream))
      assert.deepEqual([outcome.status, fired], ['failed', attempts])
    }
  })

  test('law 31: a final error is not retried, and a Catch receives it', async () => {
    const shaky = new Shaky(1, () => new NonRetryableError('enough', 'limit_reached'))
    const registry = withTypes(shaky.type)
    const policy = { attempts: 5, backoff_ms: 0 }
    const { execution } = start(retrying(policy), registry)
    const error = { node_id: 'shaky', type: 'limit_reached', message: 'enough' }
    assert.deepEqual(await execution.done, { status: 'failed', error })
    assert.equal(shaky.attempts, 1)
    shaky.attempts = 0
    const held = graph(
      [node('shaky', 'test.Shaky', { value: 7, retry: policy }), node('catch', 'control.Catch'), sink('out')],
      ['shaky.output->catch.value', 'catch.error->out.value'],
    )
    const { execution: caught } = start(held, registry)
    assert.deepEqual(await caught.done, {
      status: 'completed',
      outputs: { out: [{ ...error, node_type: 'test.Shaky' }] },
    })
    assert.equal(shaky.attempts, 1)
  })

  test('law 31: in a stream each firing has its own attempts, and results keep their order', async () => {
    const clock = new HandClock()
    let left = 2
    const shaky = testType('test.Shaky', {
      properties: [value],
      outputs: [output],
      run: async ({ value: given }) => {
        if (given === 1 && left-- > 0) throw new NodeError('not yet')
        return { output: given }
      },
    })
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [0, 1, 2, 3] }),
        node('shaky', 'test.Shaky', { retry: { attempts: 3, backoff_ms: 10 } }),
        sink('out'),
      ],
      ['each.item->shaky.value', 'shaky.output->out.value'],
    )
    const { execution } = start(of, withTypes(shaky), { clock })
    assert.deepEqual(await pauses(clock, () => execution.outcome !== null), [10, 20])
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [0, 1, 2, 3] } })
  })

  test('law 31: a Catch receives the failure of the last attempt', async () => {
    const shaky = new Shaky(9)
    const of = graph(
      [
        node('shaky', 'test.Shaky', { value: 1, retry: { attempts: 2, backoff_ms: 0 } }),
        node('c', 'control.Catch'),
        sink('out'),
      ],
      ['shaky.output->c.value', 'c.error->out.value'],
    )
    const { out } = await outputs(of, withTypes(shaky.type))
    assert.deepEqual(out, [{ node_id: 'shaky', node_type: 'test.Shaky', type: 'busy', message: 'not yet' }])
    assert.equal(shaky.attempts, 2)
  })

  test('law 31: aggregates, stream operators and loops are not retried', () => {
    for (const type of ['control.Collect', 'control.Take']) {
      const of = graph(
        [node('each', 'control.ForEach', { list: [1] }), node('n', type, { retry: { attempts: 2 } })],
        ['each.item->n.item'],
      )
      assert.equal(compileGraph(of, withTypes()).plan, null, type)
    }
    const loop = graph(
      [node('n', 'control.Loop', { initial: 1, times: 1, retry: { attempts: 2 } })],
      ['n.value->n.next'],
    )
    assert.equal(compileGraph(loop, withTypes()).plan, null)
  })

  test('law 31: attempts are 1 to 100', () => {
    for (const attempts of [0, 101, 1.5, 'two', null]) {
      assert.equal(compileGraph(retrying({ attempts }), withTypes(new Shaky(0).type)).plan, null, String(attempts))
    }
    assert.ok(compileGraph(retrying({ attempts: 100 }), withTypes(new Shaky(0).type)).plan)
  })
})
