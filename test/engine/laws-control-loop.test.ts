// The law of control.Loop: how its rounds end, and with which result.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { counting, types } from './counting.ts'
import { mapType, node, output, outputs, run, start, testType, value, withTypes } from './kit.ts'

describe('law 21: control.Loop', () => {
  const until = [node('over', 'test.Over')]
  const untilEdges = ['add.output->over.value', 'over.output->loop.until']

  test('law 21: when `until` is true, the returned value is the result', async () => {
    assert.deepEqual(await outputs(counting({}, until, untilEdges), types), { out: [5], rounds: [5] })
  })

  test('law 21: the loop ends after `times` rounds', async () => {
    assert.deepEqual(await outputs(counting({ times: 2 }, until, untilEdges), types), { out: [2], rounds: [2] })
  })

  test('law 21: a round that gives `next` no value ends the loop with the value it began with', async () => {
    const few = testType('test.Add', {
      properties: [value],
      outputs: [output],
      run: ({ value: given }) => (given === 3 ? {} : { output: Number(given) + 1 }),
    })
    const { out } = await outputs(counting({}), withTypes(few))
    assert.deepEqual(out, [3])
  })

  test('law 21: more than `max_rounds` rounds fail', async () => {
    const outcome = await run(counting({ max_rounds: 3 }), types)
    assert.ok(outcome.status === 'failed')
    assert.deepEqual([outcome.error.node_id, outcome.error.type], ['loop', 'too_many_rounds'])
    const within = await outputs(counting({ max_rounds: 5 }, until, untilEdges), types)
    assert.deepEqual(within, { out: [5], rounds: [5] })
  })

  test('law 21: a loop whose only input has no value is skipped, whatever its own values are', async () => {
    const of = counting(
      { times: 2, initial: 7 },
      [node('if', 'control.If', { condition: false, value: 1 })],
      ['if.if_true->loop.initial'],
    )
    const { execution, observer } = start(of, types)
    assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [], rounds: [] } })
    assert.deepEqual(observer.statuses('loop'), ['skipped'])
  })

  test('law 21: a failure in a round fails the run like any other', async () => {
    const bad = mapType('test.Add', (given) => {
      if (given === 2) throw new NodeError('two')
      return Number(given) + 1
    })
    const outcome = await run(counting({ times: 5 }), withTypes(bad))
    assert.ok(outcome.status === 'failed' && outcome.error.message === 'two (at index 2)')
  })
})
