// Steps of firings in a run without a journal: all attempts at their firing know them, other firings do not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NodeContext } from '../../../src/engine/node-api/node-context.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import {
  graph,
  HandClock,
  item,
  node,
  output,
  outputs,
  sink,
  source,
  start,
  testType,
  until,
  value,
  withTypes,
} from '../kit.ts'

const of = (data: Record<string, unknown> = {}) =>
  graph([node('s', 'test.Steps', data), sink('out')], ['s.output->out.value'])

/** A step whose result is that of `work`. */
async function step(context: NodeContext, name: string, work: () => unknown): Promise<unknown> {
  using taken = await context.step(name)
  if (taken.previousResult) return taken.previousResult.value
  const given = await work()
  await taken.end(given)
  return given
}

const stepping = (run: NodeType['run']) => withTypes(testType('test.Steps', { outputs: [output], run: run! }))

describe('steps without a journal', () => {
  test('that had ended are known to the next attempt, as are kept values; others are repeated', async () => {
    const done: string[] = []
    const registry = stepping(async (_inputs, context) => {
      const attempt = done.filter((name) => name === 'failed').length
      await step(context, 'first', () => done.push('first'))
      assert.deepEqual(context.findKept('first'), { value: 1 })
      assert.deepEqual(context.findKept(`attempt ${attempt - 1}`), attempt === 0 ? null : { value: attempt - 1 })
      await context.keep(`attempt ${attempt}`, attempt)
      assert.deepEqual(context.findKept(`attempt ${attempt}`), { value: attempt })
      using second = await context.step('second')
      assert.deepEqual([second.previousResult, second.wasInterrupted], [null, false])
      done.push('failed')
      if (attempt < 2) throw new Error('down')
      return { output: done }
    })
    const retry = { attempts: 5, backoff_ms: 0 }
    assert.deepEqual(await outputs(of({ retry }), registry), { out: [['first', 'failed', 'failed', 'failed']] })
  })

  test('kept by an aborted attempt are known to the next attempt, but its other steps are not', async () => {
    const clock = new HandClock()
    const [again, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let attempts = 0
    let hangs = false
    const registry = stepping(async (_inputs, context) => {
      if (attempts++ > 0) {
        again.resolve()
        await late.promise
        return { output: [context.findKept('waste'), context.findKept('slow')] }
      }
      using slow = await context.step('slow')
      hangs = true
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
      await context.keep('waste', 7)
      await again.promise
      await slow.end('too late')
      late.resolve()
      return {}
    })
    const { execution } = start(of({ timeout_seconds: 1, retry: { attempts: 2, backoff_ms: 0 } }), registry, { clock })
    await until(() => hangs, 'the first attempt')
    clock.turn(1000)
    // The pause of zero milliseconds between the two attempts.
    await until(() => {
      clock.turn(0)
      return execution.outcome !== null
    })
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [[{ value: 7 }, null]] } })
  })

  for (const data of [{}, { timeout_seconds: 9 }])
    test(`firings side by side have steps of their own: ${JSON.stringify(data)}`, async () => {
      const gate = Promise.withResolvers<void>()
      let begun = 0
      const type = testType('test.Each', {
        properties: [value],
        outputs: [output],
        async run({ value: given }, context) {
          if (++begun === 3) gate.resolve()
          await gate.promise
          await step(context, 'one', () => given)
          await context.keep('mine', given)
          return { output: [context.findKept('one')!.value, context.findKept('mine')!.value] }
        },
      })
      const each = graph(
        [source('in', [1, 2, 3]), node('list', 'control.ForEach'), node('s', 'test.Each', data), sink('out')],
        ['in.output->list.list', 'list.item->s.value', 's.output->out.value'],
      )
      assert.deepEqual(await outputs(each, withTypes(type)), {
        out: [
          [1, 1],
          [2, 2],
          [3, 3],
        ],
      })
    })

  test('belong to one aggregate of several', async () => {
    const type = testType('test.Sum', {
      properties: [{ ...value, aggregate: true }],
      outputs: [output],
      open(_inputs, context) {
        let sum = 0
        return {
          async push(given) {
            sum += Number(given)
            await context.keep(`item ${given}`, given)
          },
          async end() {
            await context.keep('sum', sum)
            return { output: context.findKept('sum')!.value }
          },
        }
      },
    })
    const nested = graph(
      [
        source('in', [
          [1, 2],
          [1, 2, 3],
        ]),
        node('a', 'control.ForEach'),
        node('b', 'control.ForEach'),
        node('s', 'test.Sum'),
        sink('out'),
      ],
      ['in.output->a.list', 'a.item->b.list', 'b.item->s.value', 's.output->out.value'],
    )
    assert.deepEqual(await outputs(nested, withTypes(type)), { out: [3, 6] })
  })

  test('belong to one stream of several', async () => {
    const type = testType('test.Stream', {
      properties: [value],
      outputs: [item],
      async *run({ value: given }, context) {
        yield { item: await step(context, 'one', () => given) }
      },
    })
    const each = graph(
      [source('in', [1, 2]), node('list', 'control.ForEach'), node('s', 'test.Stream'), sink('out')],
      ['in.output->list.list', 'list.item->s.value', 's.item->out.value'],
    )
    assert.deepEqual(await outputs(each, withTypes(type)), { out: [1, 2] })
  })

  test('of the same name are an error of the node', async () => {
    const registry = stepping(async (_inputs, context) => {
      await context.step('a')
      await context.step('a')
      return {}
    })
    const { execution, observer } = start(of(), registry)
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_failed', JSON.stringify(outcome))
    assert.match(String(observer.faults[0]), /two steps of the name "a"/)
  })
})
