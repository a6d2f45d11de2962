// The memory held by a run with its called workflows has a limit. Beyond it that run fails, and no other one.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Plan } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { ItemRequest, STREAM_END } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import type { ExecuteOptions, RunOutcome } from '../../src/engine/runtime/execution.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, item, node, output, planOf, run, sink, source, start, testType, value, withTypes } from './kit.ts'

const MIB = 1_048_576
const LIMIT: Partial<ExecuteOptions> = { memoryLimit: 8 * MIB }

function isTooLarge(outcome: RunOutcome): void {
  assert.equal(outcome.status, 'failed')
  const { error } = outcome as Extract<RunOutcome, { status: 'failed' }>
  assert.equal(error.type, 'too_large')
  assert.match(error.message, /^The run holds more than 8 MiB of values at once/)
}

const TEXT = Buffer.alloc(100_000, 'x').toString('latin1')
const text = testType('test.Text', { outputs: [output], run: () => ({ output: TEXT }) })
const types = withTypes(text)

/** So many texts of 100,000 characters as items of a stream, and a node that reads them. */
function texts(count: number, type: string, input: string): Graph {
  return graph(
    [node('numbers', 'control.Numbers', { from: 1, to: count }), node('text', 'test.Text'), node('end', type)],
    [
      { source: 'numbers', sourceHandle: 'item', target: 'text', edge_type: 'control' },
      { source: 'text', sourceHandle: 'output', target: 'end', targetHandle: input },
    ],
  )
}

/** A node type whose firings continue until they are aborted. */
function endless(): { type: NodeType; aborted: string[] } {
  const aborted: string[] = []
  const type = testType('test.Endless', {
    properties: [value],
    run: (_inputs, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason.type)
          reject(signal.reason)
        })
      }),
  })
  return { type, aborted }
}

describe('the memory of a run', () => {
  test('counts gathered items of a stream', async () => {
    isTooLarge(await run(texts(60, 'control.Collect', 'item'), types, LIMIT))
    assert.equal((await run(texts(30, 'control.Collect', 'item'), types, LIMIT)).status, 'completed')
    assert.equal((await run(texts(60, 'control.Collect', 'item'), types)).status, 'completed')
  })

  const waits = { ...LIMIT, inboxLimit: 8 }

  test('counts lists made of a stream', async () => {
    const batches = (size: number) => {
      const of = texts(60, 'control.Batch', 'item')
      of.nodes.at(-1)!.data = { size }
      return of
    }
    isTooLarge(await run(batches(1_000), types, waits))
    assert.equal((await run(batches(20), types, waits)).status, 'completed')
  })

  test('counts a stream that is read repeatedly', async () => {
    const of = texts(60, 'control.Cross', 'b')
    of.nodes.push(node('a', 'control.Numbers', { from: 1, to: 2 }))
    of.edges.push({ source: 'a', sourceHandle: 'item', target: 'end', targetHandle: 'a' })
    isTooLarge(await run(of, types, waits))
  })

  describe('counts items that an open firing may have retained', () => {
    const ITEMS = { name: 'items', type: ANY_TYPE, required: true, aggregate: true }

    test('of a stream', async () => {
      const type = testType('test.Aggregate', {
        properties: [ITEMS],
        outputs: [output],
        open: () => ({ push: () => {}, end: () => ({ output: 0 }) }),
      })
      isTooLarge(await run(texts(60, 'test.Aggregate', 'items'), withTypes(type, text), waits))
    })

    test('of several streams', async () => {
      const type = testType('test.Weave', {
        properties: [ITEMS],
        outputs: [item],
        *streamOperator() {
          while ((yield new ItemRequest('items')) !== STREAM_END) yield { item: 0 }
          return {}
        },
      })
      isTooLarge(await run(texts(60, 'test.Weave', 'items'), withTypes(type, text), waits))
    })

    test('of the rounds of a loop', async () => {
      const type = testType('test.Loop', {
        properties: [{ name: 'next', type: ANY_TYPE, required: true, feedback: true }],
        outputs: [item],
        loop: () => ({ first: () => ({ item: { item: 0 } }), next: () => ({ item: { item: 0 } }) }),
      })
      const of = graph(
        [node('loop', 'test.Loop'), node('text', 'test.Text')],
        [
          { source: 'loop', sourceHandle: 'item', target: 'text', edge_type: 'control' },
          { source: 'text', sourceHandle: 'output', target: 'loop', targetHandle: 'next' },
        ],
      )
      isTooLarge(await run(of, withTypes(type, text), waits))
    })
  })

  test('does not count items that a node type releases', async () => {
    for (const [type, inputs] of [
      ['control.Zip', ['a', 'b']],
      ['control.Take', ['item']],
      ['control.Last', ['item']],
      ['control.Count', ['item']],
    ] as const) {
      const of = texts(500, type, inputs[0])
      of.nodes.at(-1)!.data = { count: 1_000 }
      for (const input of inputs.slice(1)) of.edges.push({ ...of.edges[1]!, targetHandle: input })
      assert.equal((await run(of, types, waits)).status, 'completed', type)
    }
  })

  test('counts these items all the same behind nodes that read whole streams', async () => {
    const of = texts(60, 'control.Take', 'item')
    of.nodes.at(-1)!.data = { count: 1_000 }
    of.nodes.push(node('list', 'control.Collect'))
    of.edges.push({ source: 'end', sourceHandle: 'item', target: 'list', targetHandle: 'item' })
    isTooLarge(await run(of, types, { ...LIMIT, inboxLimit: 8 }))
  })

  test('does not count fetched items of an unwanted stream', async () => {
    const ahead = testType('test.Ahead', {
      properties: [value],
      outputs: [item],
      async *run() {
        for (let at = 0; at < 1_000; at++) yield { item: TEXT.slice(at, at + 1_000) }
      },
    })
    const of = graph(
      [
        node('numbers', 'control.Numbers', { from: 1, to: 200 }),
        node('ahead', 'test.Ahead'),
        node('first', 'control.Take', { count: 3 }),
        node('end', 'control.Count'),
      ],
      ['numbers.item->ahead.value', 'ahead.item->first.item', 'first.count->end.item'],
    )
    const outcome = await run(of, withTypes(ahead), { ...LIMIT, inboxLimit: 4 })
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
  })

  test('does not count values that have left the run', async () => {
    assert.equal(
      (await run(texts(2_000, 'control.Count', 'item'), types, { ...LIMIT, inboxLimit: 8 })).status,
      'completed',
    )
  })

  test('counts values on edges', async () => {
    const { type } = endless()
    isTooLarge(await run(texts(1_000, 'test.Endless', 'value'), withTypes(type, text), { ...LIMIT, inboxLimit: 1_000 }))
  })

  test('counts outputs', async () => {
    const of = texts(100, 'output.Output', 'value')
    of.nodes.at(-1)!.data = { name: 'all' }
    isTooLarge(await run(of, types, LIMIT))
  })

  test('counts a large value once, on however many edges it lies', async () => {
    const list = Array.from({ length: 200_000 }, (_, at) => at)
    const many = Array.from({ length: 50 }, (_, at) => node(`n${at}`, 'list.Length'))
    const of = graph(
      [source('list', list), ...many],
      many.map(({ id }) => `list.output->${id}.list`),
    )
    assert.equal((await run(of, builtinRegistry, LIMIT)).status, 'completed')
  })

  test('counts called workflows, and no Catch receives the failure', async () => {
    const called = planOf(texts(60, 'control.Collect', 'item'), types)
    const of = graph(
      [
        node('call', 'workflow.Call', { workflow_id: 'w' }, { dynamic_outputs: { output: ANY_TYPE } }),
        node('caught', 'control.Catch'),
        sink('out'),
      ],
      ['call.output->caught.value', 'caught.error->out.value'],
    )
    isTooLarge(await run(of, builtinRegistry, { ...LIMIT, loadPlan: async () => called }))
  })

  describe('counts the plan of a called workflow', () => {
    const called = (delay: number) =>
      planOf(
        graph(
          [source('in', 1), node('wait', 'control.Delay', { seconds: delay }), sink('output')],
          ['in.output->wait.value', 'wait.output->output.value'],
        ),
        builtinRegistry,
      )
    const calls = (ids: readonly string[], edges: string[] = []) =>
      graph(
        ids.map((workflow_id, at) =>
          node(`call${at}`, 'workflow.Call', { workflow_id }, { dynamic_outputs: { output: ANY_TYPE } }),
        ),
        edges,
      )
    const plans: Record<string, Plan> = { w1: called(0.05), w2: called(0.05) }
    const options = { ...LIMIT, loadPlan: async (id: string) => plans[id]!, estimatePlanBytes: () => 5 * MIB }

    test('once for all calls of it', async () => {
      assert.equal((await run(calls(['w1', 'w1', 'w1']), builtinRegistry, options)).status, 'completed')
    })

    test('in addition to plans that are called at the same time', async () => {
      isTooLarge(await run(calls(['w1', 'w2']), builtinRegistry, options))
    })

    test('until its calls are over', async () => {
      const after = [{ source: 'call0', sourceHandle: 'output', target: 'call1', edge_type: 'control' }] as never[]
      const loaded: string[] = []
      const loadPlan = (id: string) => {
        loaded.push(id)
        return options.loadPlan(id)
      }
      const { status } = await run(calls(['w1', 'w2'], after), builtinRegistry, { ...options, loadPlan })
      assert.deepEqual([status, loaded], ['completed', ['w1', 'w2']])
    })
  })

  test('is limited for each run by itself', async () => {
    const { type } = endless()
    const waits = graph([source('a', TEXT.repeat(15)), node('slow', 'test.Endless')], ['a.output->slow.value'])
    const runs = Array.from({ length: 3 }, () => start(waits, withTypes(type), LIMIT))
    isTooLarge(await run(texts(60, 'control.Collect', 'item'), types, LIMIT))
    for (const { execution, abort } of runs) {
      assert.equal(execution.outcome, null)
      abort.abort()
      assert.equal((await execution.done).status, 'cancelled')
    }
  })

  test('ends firings in flight when it is exceeded', async () => {
    const { type, aborted } = endless()
    const of = texts(60, 'control.Collect', 'item')
    of.nodes.push(source('a', 1), node('slow', 'test.Endless'))
    of.edges.push({ source: 'a', sourceHandle: 'output', target: 'slow', targetHandle: 'value' })
    isTooLarge(await run(of, withTypes(type, text), LIMIT))
    assert.deepEqual(aborted, ['too_large'])
  })

  test('is shared by all runs of an owner: beyond the limit the requesting run fails and releases its memory', async () => {
    const held = new Map<string, number>()
    let most = 0
    const sharedMemory = {
      change(owner: string, bytes: number) {
        const all = (held.get(owner) ?? 0) + bytes
        if (bytes > 0 && all > 8 * MIB) return false
        held.set(owner, all)
        most = Math.max(most, all)
        return true
      },
    }
    const outcome = await run(texts(60, 'control.Collect', 'item'), types, { sharedMemory })
    assert.equal(outcome.status, 'failed')
    const { error } = outcome as Extract<RunOutcome, { status: 'failed' }>
    assert.deepEqual([error.type, /^Your runs together hold/.test(error.message)], ['too_large', true])
    assert.deepEqual([...held.values()], [0])
    assert.ok(most > 6 * MIB)
    assert.equal((await run(texts(30, 'control.Collect', 'item'), types, { sharedMemory })).status, 'completed')
    assert.deepEqual([...held.values()], [0])
  })
})
