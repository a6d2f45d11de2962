// The laws of failures in streams, of the outputs of a Catch, and of nodes with caught failures.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { caught, error, list, odd, told, types } from './catching.ts'
import { Gate, graph, mapType, node, outputs, sink, start, until, withTypes } from './kit.ts'

describe('law 29: streams that fail, and what Catch makes of it', () => {
  test('law 29: a stream has the failure as its last item', async () => {
    const of = graph([node('broken', 'test.Broken', { value: 2 }), ...caught], ['broken.item->caught.value', ...told])
    const failed = [error('broken', 'test.Broken', 'broken')]
    assert.deepEqual(await outputs(of, types), { out: [0, 1], failed })
  })

  test('law 29: the single outputs of a failed stream have the failure as well', async () => {
    const of = graph(
      [node('broken', 'test.Broken', { value: 2 }), ...caught, node('all', 'control.Collect'), sink('all_out')],
      ['broken.count->caught.value', 'broken.item->all.item', 'all.list->all_out.value', ...told],
    )
    const failed = [error('broken', 'test.Broken', 'broken')]
    // The other edge leads to no Catch: its stream ends like any other.
    assert.deepEqual(await outputs(of, types), { out: [], failed, all_out: [[0, 1]] })
  })

  test('law 29: with a value, `value` is that value and `error` is nothing; each path has its own', async () => {
    const of = graph(
      [list('each', [1, 2, 3]), node('odd', 'test.Odd'), ...caught],
      ['each.item->odd.value', 'odd.output->caught.value', ...told],
    )
    const failed = [
      error('odd', 'test.Odd', '1 is odd (at index 0)'),
      error('odd', 'test.Odd', '3 is odd (at index 2)'),
    ]
    assert.deepEqual(await outputs(of, types), { out: [2], failed })
  })

  test('law 29: a path without a value does not fire a Catch', async () => {
    const of = graph(
      [node('if', 'control.If', { condition: false, value: 1 }), ...caught],
      ['if.if_true->caught.value', ...told],
    )
    assert.deepEqual(await outputs(of, types), { out: [], failed: [] })
  })

  test('law 29: an error with a hidden cause hides it in a Catch as well', async () => {
    const secret = mapType('test.Secret', () => {
      throw new TypeError('password is hunter2')
    })
    const of = graph([node('secret', 'test.Secret', { value: 1 }), ...caught], ['secret.output->caught.value', ...told])
    const { execution, observer } = start(of, withTypes(secret))
    assert.doesNotMatch(JSON.stringify([await execution.done, observer.calls]), /hunter2/)
    assert.equal(observer.faults.length, 1)
  })
})

describe('law 30: a node whose failure was held', () => {
  test('law 30: is closed as error, each failed firing logs a warning, and the run goes on', async () => {
    const of = graph(
      [list('each', [1, 2, 3, 4]), node('odd', 'test.Odd'), ...caught],
      ['each.item->odd.value', 'odd.output->caught.value', ...told],
    )
    const { execution, observer } = start(of, types)
    assert.equal((await execution.done).status, 'completed')
    assert.deepEqual(observer.statuses('odd'), ['running', 'error'])
    const warnings = observer.named('log').map(([, id, severity]) => `${id} ${severity}`)
    assert.deepEqual(warnings, ['odd warning', 'odd warning'])
  })

  test('law 30: firings in flight beside it go on', async () => {
    const gate = new Gate()
    const of = graph(
      [node('odd', 'test.Odd', { value: 1 }), node('slow', 'test.Gate', { value: 5 }), ...caught, sink('slow_out')],
      ['odd.output->caught.value', 'slow.output->slow_out.value', ...told],
    )
    const { execution, observer } = start(of, withTypes(odd, gate.type))
    await until(() => gate.waiting.length === 1 && observer.statuses('odd').includes('error'))
    gate.waiting[0]!.open()
    const outcome = await execution.done
    assert.ok(outcome.status === 'completed')
    assert.deepEqual(outcome.outputs.slow_out, [5])
  })
})
