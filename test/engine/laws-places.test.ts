// The second half of law 25: the item of a stream that a failure is about.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { Gate, graph, node, output, run, sink, source, start, testType, until, value, withTypes } from './kit.ts'

function refuse(given: unknown): unknown {
  if (given === 'bad') throw new NodeError('It is bad.')
  return given
}

const plain = testType('test.Plain', {
  properties: [value],
  outputs: [output],
  run: ({ value: given }) => ({ output: refuse(given) }),
})
const late = testType('test.Late', {
  properties: [value],
  outputs: [output],
  run: async ({ value: given }) => ({ output: refuse(given) }),
})
const all = testType('test.All', {
  properties: [
    { name: 'item', type: ANY_TYPE, required: true, aggregate: true },
    { name: 'when', type: parseType('str') },
  ],
  outputs: [output],
  open: ({ when }) => {
    if (when === 'open') throw new NodeError('It is bad.')
    return {
      push: (one) => {
        if (when === 'push') refuse(one)
      },
      end: () => ({ output: when === 'end' ? refuse('bad') : 1 }),
    }
  },
})
const types = withTypes(plain, late, all)

async function messageOf(of: Graph, registry = types): Promise<string> {
  const outcome = await run(of, registry)
  return outcome.status === 'failed' ? outcome.error.message : outcome.status
}

/** A list, its items, and one node of that type behind them. */
function row(list: unknown, type: string, data: Record<string, unknown> = {}, input = 'value'): Graph {
  const nodes = [source('in', list), node('each', 'control.ForEach'), node('n', type, data), sink('out')]
  return graph(nodes, ['in.output->each.list', `each.item->n.${input}`, 'n.output->out.value'])
}

/** A list of lists, the items of each, and one node of that type behind them. */
function nested(lists: unknown, type: string, data: Record<string, unknown> = {}, input = 'value'): Graph {
  const each = ['outer', 'inner'].map((id) => node(id, 'control.ForEach'))
  const nodes = [source('in', lists), ...each, node('n', type, data), sink('out')]
  const edges = ['in.output->outer.list', 'outer.item->inner.list', `inner.item->n.${input}`, 'n.output->out.value']
  return graph(nodes, edges)
}

describe('law 25: a failure inside of streams names its index path', () => {
  test('law 25: for synchronous and asynchronous failures, in one stream or in several', async () => {
    for (const type of ['test.Plain', 'test.Late']) {
      assert.equal(await messageOf(row(['a', 'b', 'bad', 'd'], type)), 'It is bad. (at index 2)')
      assert.equal(await messageOf(nested([['a'], [], ['bad']], type)), 'It is bad. (at index 2.0)')
      assert.equal(
        await messageOf(
          nested(
            [
              ['a', 'b'],
              ['c', 'bad'],
            ],
            type,
          ),
        ),
        'It is bad. (at index 1.1)',
      )
    }
    assert.equal(await messageOf(graph([node('n', 'test.Plain', { value: 'bad' })], [])), 'It is bad.')
  })

  test('law 25: the path is that of the failed firing, not of the last item read', async () => {
    const gate = new Gate()
    const { execution } = start(row(['a', 'b', 'c'], 'test.Gate'), withTypes(gate.type))
    await until(() => gate.waiting.length === 3)
    gate.waiting[1]!.fail(new NodeError('It is bad.'))
    gate.waiting[0]!.open()
    gate.waiting.at(-1)!.open()
    const outcome = await execution.done
    assert.ok(outcome.status === 'failed' && outcome.error.message === 'It is bad. (at index 1)')
  })

  test('law 25: for an error with a hidden cause, and for a value that does not fit', async () => {
    const typed = testType('test.Typed', {
      properties: [{ name: 'value', type: parseType('int'), required: true }],
      outputs: [output],
      run: ({ value: given }) => {
        if (given === 0) throw new TypeError('secret')
        return { output: given }
      },
    })
    const registry = withTypes(typed)
    assert.equal(
      await messageOf(row([1, 0], 'test.Typed'), registry),
      'The node failed. The log says why. (at index 1)',
    )
    assert.match(
      await messageOf(row([1, 2, 'x'], 'test.Typed'), registry),
      /expected an integer \(int\), got a string\. \(at index 2\)$/,
    )
  })

  test('law 25: in an aggregate, the path is that of the item being read, else of the firing', async () => {
    const whole = (when: string) => messageOf(row(['a', 'bad', 'c'], 'test.All', { when }, 'item'))
    assert.equal(await whole('open'), 'It is bad.')
    assert.equal(await whole('push'), 'It is bad. (at index 1)')
    assert.equal(await whole('end'), 'It is bad.')
    const inner = (when: string) => messageOf(nested([[], ['a', 'bad']], 'test.All', { when }, 'item'))
    assert.equal(await inner('open'), 'It is bad. (at index 0)')
    assert.equal(await inner('push'), 'It is bad. (at index 1.1)')
    assert.equal(await inner('end'), 'It is bad. (at index 0)')
  })
})
