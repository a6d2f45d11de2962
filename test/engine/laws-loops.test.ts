// The laws of loops: rounds, legal and illegal cycles, and the order of firings.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { counting, types } from './counting.ts'
import { graph, node, output, outputs, sink, source, testType, value, withTypes } from './kit.ts'

function codes(of: Graph): string[] {
  return compileGraph(of, types).issues.map((issue) => issue.code)
}

describe('law 18: feedback closes a cycle', () => {
  test('law 18: a constant does not replace feedback', () => {
    const issue = (data: Record<string, unknown>, edges: string[] = []) => {
      const nodes = [node('loop', 'control.Loop', { initial: 1, ...data }), sink('out')]
      const { plan, issues } = compileGraph(graph(nodes, ['loop.result->out.value', ...edges]), types)
      assert.equal(plan, null)
      assert.equal(issues.length, 1, JSON.stringify(issues))
      return issues[0]!
    }
    const next = issue({ next: 2 })
    assert.deepEqual([next.code, next.pin_name], ['missing_property', 'next'])
    assert.match(next.message, /"next" of node "loop" needs an edge\./)
    const until = issue({ until: true }, ['loop.value->loop.next'])
    assert.deepEqual([until.code, until.pin_name], ['missing_property', 'until'])
    assert.match(until.message, /"until" of node "loop" needs an edge out of the loop's own stream/)
    assert.deepEqual(codes(counting({ times: 2, next: 7, until: null })), [])
  })

  test('law 18: the feedback of a round decides whether there is another round', async () => {
    assert.deepEqual(await outputs(counting({ times: 3 }), types), { out: [3], rounds: [3] })
  })

  test('law 18: no other edge may close a cycle', () => {
    const of = graph([node('a', 'test.Add'), node('b', 'test.Add')], ['a.output->b.value', 'b.output->a.value'])
    assert.deepEqual([...new Set(codes(of))], ['illegal_cycle'])
  })

  test('law 18: feedback comes out of the stream of the loop itself: not from around it, not from deeper', () => {
    const outside = graph(
      [node('loop', 'control.Loop', { initial: 0 }), source('in', 1), sink('out')],
      ['in.output->loop.next', 'loop.result->out.value'],
    )
    const deeper = graph(
      [node('loop', 'control.Loop', { initial: [1] }), node('each', 'control.ForEach'), sink('out')],
      ['loop.value->each.list', 'each.item->loop.next', 'loop.result->out.value'],
    )
    for (const one of [outside, deeper]) assert.notDeepEqual(codes(one), [])
  })

  test('law 18: an inner stream may be collected before it feeds back', async () => {
    const of = graph(
      [
        node('loop', 'control.Loop', { initial: [1, 2], times: 2 }),
        node('each', 'control.ForEach'),
        node('add', 'test.Add'),
        node('all', 'control.Collect'),
        sink('out'),
      ],
      [
        'loop.value->each.list',
        'each.item->add.value',
        'add.output->all.item',
        'all.list->loop.next',
        'loop.result->out.value',
      ],
    )
    assert.deepEqual(await outputs(of, types), { out: [[3, 4]] })
  })
})

describe('law 19: nothing inside a round waits for the end of its loop', () => {
  test('law 19: neither for its single outputs nor for an aggregate of its stream', () => {
    const both = testType('test.Both', {
      properties: [value, { name: 'other', type: ANY_TYPE, required: true }],
      outputs: [output],
      run: ({ value: given }) => ({ output: given }),
    })
    const base = [node('loop', 'control.Loop', { initial: 0 }), node('both', 'test.Both')]
    const edges = ['loop.value->both.value', 'both.output->loop.next']
    const result = graph(base, [...edges, 'loop.result->both.other'])
    const all = graph(
      [...base, node('all', 'control.Count')],
      [...edges, 'loop.value->all.item', 'all.count->both.other'],
    )
    for (const one of [result, all]) {
      const { issues } = compileGraph(one, withTypes(both))
      assert.deepEqual([...new Set(issues.map((issue) => issue.code))], ['illegal_cycle'])
    }
  })
})

describe('law 20: the firings of a loop take place one after the other', () => {
  test('law 20: the second begins when the first is over; each has its own rounds', async () => {
    const seen: unknown[] = []
    const slow = testType('test.Slow', {
      properties: [value],
      outputs: [output],
      async run({ value: given }) {
        seen.push(given)
        await new Promise((resolve) => setImmediate(resolve))
        return { output: Number(given) + 1 }
      },
    })
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [10, 20, 30] }),
        node('loop', 'control.Loop', { times: 2 }),
        node('slow', 'test.Slow'),
        sink('out'),
        sink('values'),
      ],
      [
        'each.item->loop.initial',
        'loop.value->slow.value',
        'slow.output->loop.next',
        'loop.result->out.value',
        'loop.value->values.value',
      ],
    )
    const values = [10, 11, 20, 21, 30, 31]
    assert.deepEqual(await outputs(of, withTypes(slow)), { out: [12, 22, 32], values })
    assert.deepEqual(seen, values)
  })

  test('law 20: a loop inside of a loop runs to its end', async () => {
    const of = graph(
      [
        node('outer', 'control.Loop', { initial: 0, times: 3 }),
        node('inner', 'control.Loop', { times: 2 }),
        node('add', 'test.Add'),
        sink('out'),
      ],
      [
        'outer.value->inner.initial',
        'inner.value->add.value',
        'add.output->inner.next',
        'inner.result->outer.next',
        'outer.result->out.value',
      ],
    )
    assert.deepEqual(await outputs(of, types), { out: [6] })
  })

  test('law 20: a firing that failed, and was caught, does not affect the rounds of the next', async () => {
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [0, 10] }),
        node('loop', 'control.Loop', { max_rounds: 2 }),
        node('add', 'test.Add'),
        node('over', 'test.Over'),
        node('caught', 'control.Catch'),
        sink('out'),
        sink('failed'),
      ],
      [
        'each.item->loop.initial',
        'loop.value->add.value',
        'add.output->loop.next',
        'loop.value->over.value',
        'over.output->loop.until',
        'loop.result->caught.value',
        'caught.value->out.value',
        'caught.error->failed.value',
      ],
    )
    const { out, failed } = await outputs(of, types)
    assert.deepEqual([out, failed!.length], [[11], 1])
  })
})
