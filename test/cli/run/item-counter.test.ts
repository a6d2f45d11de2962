// The number of items of a node, as the views of a run show it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatItems } from '../../../src/cli/run/plain-views.ts'
import { RunProgress } from '../../../src/cli/run/progress.ts'
import type { GraphNode } from '../../../src/engine/compile/graph.ts'
import { executePlan } from '../../../src/engine/runtime/execution.ts'
import { graphOf, planOf } from '../kit.ts'

describe('the items of a node', () => {
  /** The final state of each node of a run, by its id, and the outputs of the run. */
  async function told(nodes: GraphNode[], edges: string[]) {
    const plan = planOf(graphOf(nodes, edges))
    const progress = new RunProgress(plan, () => 0)
    const observer = progress.observer({ nodeClosed() {}, say() {}, end() {} })
    const outcome = await executePlan(plan, { params: {}, signal: new AbortController().signal, observer }).done
    assert.ok(outcome.status === 'completed')
    const items = Object.fromEntries(progress.nodes.map((node, at) => [nodes[at]!.id, formatItems(node)]))
    return { items, outputs: outcome.outputs }
  }

  test('count the items that it produced, not those that it read', async () => {
    const { items, outputs } = await told(
      [
        { id: 'many', type: 'control.Numbers', data: { start: 0 } },
        { id: 'double', type: 'math.Formula', data: { formula: 'x * 2' } },
        { id: 'six', type: 'control.Take', data: { count: 6 } },
        { id: 'out', type: 'output.Output', data: { name: 'out' } },
      ],
      ['many.item>double.x', 'double.output>six.item', 'six.item>out.value'],
    )
    assert.deepEqual(outputs, { out: [0, 2, 4, 6, 8, 10] })
    assert.equal(items.six, '6 items')
    assert.equal(items.out, '6 items')
    assert.ok(Number.parseInt(items.double!, 10) >= 6)
  })

  test('of a branch count all its outputs, and of a list are not counted', async () => {
    const { items } = await told(
      [
        { id: 'each', type: 'control.ForEach', data: { list: [5, 0, 7] } },
        { id: 'if', type: 'control.If' },
        { id: 'some', type: 'math.Formula', data: { formula: 'x + 1' } },
        { id: 'zero', type: 'math.Formula', data: { formula: 'x + 1' } },
        { id: 'all', type: 'control.Collect' },
        { id: 'text', type: 'text.FromValue' },
        { id: 'out', type: 'output.Output', data: { name: 'out' } },
      ],
      [
        'each.item>if.condition',
        'each.index>if.value',
        'if.if_true>some.x',
        'if.if_false>zero.x',
        'some.output>all.item',
        'zero.output>text.value',
        'all.list>out.value',
      ],
    )
    const expected = { each: '3 items', if: '3 items', some: '2 items', zero: '1 item', text: '1 item' }
    assert.deepEqual(items, { ...expected, all: '', out: '' })
  })

  test('of a node with several outputs are those of one output', async () => {
    const { items } = await told(
      [
        { id: 'each', type: 'control.ForEach', data: { list: ['a', 'b', ''] } },
        { id: 'diff', type: 'text.Diff' },
        { id: 'up', type: 'text.Case', data: { to: 'upper' } },
        { id: 'sum', type: 'math.Formula', data: { formula: 'x + 1' } },
      ],
      ['each.item>diff.a', 'each.item>diff.b', 'diff.output>up.text', 'diff.added>sum.x'],
    )
    assert.deepEqual(items, { each: '3 items', diff: '3 items', up: '3 items', sum: '3 items' })
  })

  test('of a node without edges at its outputs are its firings, if it has one input', async () => {
    const { items } = await told(
      [
        { id: 'each', type: 'control.ForEach', data: { list: ['a', 'b', 'c'] } },
        { id: 'one', type: 'text.FromValue' },
        { id: 'two', type: 'text.Concat' },
        { id: 'lone', type: 'control.ForEach', data: { list: [1, 2] } },
      ],
      ['each.item>one.value', 'each.item>two.a', 'each.item>two.b'],
    )
    assert.deepEqual(items, { each: '3 items', one: '3 items', two: '', lone: '' })
  })
})
