// code.JavaScript, run by the engine with a real sandbox.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { GraphNode } from '../../src/engine/compile/graph.ts'
import type { NodeServices } from '../../src/engine/node-api/node-services.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import type { SandboxScript } from '../../src/engine/node-api/services/sandbox.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { graph, node, outputs, planOf, run, sink, start } from '../engine/kit.ts'
import { belowInSome } from '../helpers/patience.ts'
import { fire } from './fire.ts'

const TYPE = 'code.JavaScript'
const sandbox = createCodeSandbox({ workers: 2 })
after(() => sandbox[Symbol.asyncDispose]())
const services: NodeServices = { ...noServices, sandbox }

const int = { type: 'int', optional: false, values: [], type_args: [], type_name: null }

function coded(text: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    ...node('n', TYPE, { code: text }),
    dynamic_outputs: { a: int },
    ...more,
    data: { code: text, ...more.data },
  }
}

/** The values of each output node, item by item. */
function results(nodes: GraphNode[], edges: string[]) {
  return outputs(graph(nodes, edges), builtinRegistry, { services })
}

async function failed(one: GraphNode) {
  const outcome = await run(graph([one, sink('out')], ['n.a->out.value']), builtinRegistry, { services })
  assert.ok(outcome.status === 'failed', outcome.status)
  return outcome.error
}

describe(TYPE, () => {
  test('gives its returned values as outputs by name, from inputs by name', async () => {
    const one = coded('return { a: x * 2 + inputs.y }', { dynamic_properties: { x: 4, y: 1 } })
    assert.deepEqual(await results([one, sink('out')], ['n.a->out.value']), {
      out: [9],
    })
  })

  test('gives no outputs if it returns nothing', async () => {
    assert.deepEqual(await results([coded(''), sink('out')], ['n.a->out.value']), { out: [] })
  })

  test('checks its outputs by their types', async () => {
    assert.match((await failed(coded("return { a: 'x' }"))).message, /gave str on "a", which is int/)
    assert.match((await failed(coded('return { b: 1 }'))).message, /"b"/)
  })

  test('reports errors with their lines', async () => {
    const { type, message } = await failed(coded("const a = 1\nthrow new Error('bad')"))
    assert.deepEqual([type, message], ['code_error', 'Error: bad (line 2, column 16)'])
  })

  test('keeps its limits', async () => {
    const time = await failed(coded('for (;;);', { data: { time_limit_ms: 20 } }))
    assert.deepEqual([time.type, time.message.includes('20 ms')], ['code_timeout', true])
    const memory = await failed(coded('new ArrayBuffer(1e7)', { data: { memory_limit_mb: 8 } }))
    assert.deepEqual([memory.type, memory.message.includes('8 MB')], ['code_memory', true])
  })

  test('draws the same random numbers for the same seed', async () => {
    const draw = async (seed: number | null) => {
      const one = coded('return { a: Math.floor(Math.random() * 2 ** 40) }', { data: { seed } })
      return (await results([one, sink('out')], ['n.a->out.value'])).out?.[0]
    }
    assert.equal(await draw(7), await draw(7))
    assert.notEqual(await draw(7), await draw(8))
    assert.notEqual(await draw(null), await draw(null))
  })

  test('writes its console to the log', async () => {
    const { execution, observer } = start(graph([coded("console.warn('careful', { a: 1 })")], []), builtinRegistry, {
      services,
    })
    await execution.done
    assert.deepEqual(observer.named('log'), [['log', 'n', 'warning', 'careful {a: 1}']])
  })

  test('streams yielded values, and gives returned values at the end', async () => {
    const one = coded('for (let i = 0; i < 3; i++) yield { item: i * n }\nreturn { count: 3 }', {
      dynamic_properties: { n: 10 },
      dynamic_outputs: { item: { ...int, stream: true }, count: int },
    })
    const of = graph(
      [one, node('all', 'control.Collect'), sink('list'), sink('count')],
      ['n.item->all.item', 'all.list->list.value', 'n.count->count.value'],
    )
    assert.deepEqual(await outputs(of, builtinRegistry, { services }), { list: [[0, 10, 20]], count: [3] })
  })

  test('feeds one stream with another', async () => {
    const item = { item: { ...int, stream: true } }
    const first = { ...coded('for (let i = 0; i < 40; i++) yield { item: i }', { dynamic_outputs: item }), id: 'first' }
    const second = { ...coded('for (let k = 0; k < 3; k++) yield { item: i * 100 + k }', { dynamic_outputs: item }) }
    const of = graph(
      [first, second, node('in', 'control.Collect'), node('all', 'control.Collect'), sink('out')],
      ['first.item->n.i', 'n.item->in.item', 'in.list->all.item', 'all.list->out.value'],
    )
    const { out } = await outputs(of, builtinRegistry, { services })
    assert.deepEqual((out as number[][][])[0]!.slice(38), [
      [3800, 3801, 3802],
      [3900, 3901, 3902],
    ])
  })

  test('yields nothing if no output is a stream', async () => {
    assert.match((await failed(coded('yield { a: 1 }'))).message, /no stream output/)
  })

  test('ends at once if its run is cancelled', async () => {
    await belowInSome(1_000, async () => {
      const { execution, observer, abort } = start(
        graph([coded("console.log('begun')\nfor (;;);", { data: { time_limit_ms: 60_000 } })], []),
        builtinRegistry,
        { services },
      )
      while (observer.named('log').length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const from = performance.now()
      abort.abort()
      assert.equal((await execution.done).status, 'cancelled')
      return performance.now() - from
    })
  })

  test('tells the sandbox its user and run: all nodes and called workflows of a run share it', async () => {
    const owners = new Set<unknown>()
    const runs: unknown[] = []
    const seen = (script: SandboxScript): SandboxScript => {
      owners.add(script.owner)
      runs.push(script.run)
      return script
    }
    const recording: NodeServices = {
      ...services,
      owner: 'ada',
      sandbox: { call: (script) => sandbox.call(seen(script)), stream: (script) => sandbox.stream(seen(script)) },
    }
    const stream = coded('yield { a: 1 }', { dynamic_outputs: { a: { ...int, stream: true } } })
    const inner = planOf(graph([coded('return {}')], []))
    const of = graph(
      [coded('return {}'), { ...stream, id: 's' }, node('call', 'workflow.Call', { workflow_id: 'w' })],
      [],
    )
    for (let round = 0; round < 2; round++) {
      const { status } = await run(of, builtinRegistry, { services: recording, loadPlan: async () => inner })
      assert.equal(status, 'completed')
    }
    assert.deepEqual([...owners], ['ada'])
    const [first, , , second] = runs
    assert.ok(typeof first === 'object' && first !== second)
    assert.deepEqual(
      runs.map((one) => [one === first, one === second]),
      [...Array(3).fill([true, false]), ...Array(3).fill([false, true])],
    )
  })

  test('fails with a clear error if there is no sandbox, or no code', async () => {
    await assert.rejects(fire(TYPE, { code: 'return {}' }), /unavailable: No code sandbox is available/)
    await assert.rejects(fire(TYPE), /missing_property/)
  })
})
