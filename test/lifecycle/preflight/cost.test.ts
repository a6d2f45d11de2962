// Tests the estimated cost of a run, and its confidence.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PreflightCost } from '../../../generated/types.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { ModelPrice } from '../../../src/models/provider.ts'
import { graph, node } from '../../engine/kit.ts'
import { dollars, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { stored } from '../../sockets/kit.ts'
import { calling, chat, preflightOf } from '../preflight-kit.ts'

const euros = (request: number): ModelPrice => ({ ...dollars(0, 0, request), currency: 'EUR' })

const models = {
  flat: dollars(0, 0, 0.25),
  tokens: dollars(1, 2),
  both: dollars(1, 2, 0.5),
  output: dollars(0, 3),
  euro: euros(1),
  free: dollars(0, 0),
  unpriced: null,
}
const priced = pricedProvider({ models })
const short = pricedProvider({ name: 'short', models: { tokens: dollars(1, 2) }, max_output_tokens: 100 })

let server: TestServer
before(async () => {
  server = await startServer({ providers: [priced, short] })
})
after(() => server[Symbol.asyncDispose]())

const ask = (id: string, model: string, more = {}) =>
  node(id, 'chat.Complete', { model, prompt: 'one two three', ...more })
const costOf = async (of: Graph, request = {}) => (await preflightOf(server, of, request)).cost

function cost(
  amount: number | null,
  confidence: PreflightCost['confidence'],
  unknown: string[] = [],
  currency = 'USD',
) {
  return {
    amount,
    currency: amount === null ? null : currency,
    confidence,
    unknown_cost_nodes: unknown,
    approval_required: false,
  }
}

describe('the confidence of the cost is', () => {
  test('exact for prices per request only, and one request for each node', async () => {
    assert.deepEqual(await costOf(chat({ model: 'priced/flat', prompt: 'x' })), cost(0.25, 'exact'))
    const of = graph([ask('a', 'priced/flat'), ask('b', 'priced/flat'), ask('c', 'priced/free')], [])
    assert.deepEqual(await costOf(of), cost(0.5, 'exact'))
  })

  test('estimated for prices per token: sent tokens are counted, those of the answer are its limit or assumed', async () => {
    const of = (model: string, more = {}) => costOf(graph([ask('a', model, more)], []))
    assert.deepEqual(await of('priced/tokens', { max_output_tokens: 500 }), cost((3 + 1_000) / 1e6, 'estimated'))
    assert.deepEqual(await of('priced/both', { max_output_tokens: 500 }), cost(0.5 + 1_003 / 1e6, 'estimated'))
    assert.deepEqual(await of('priced/tokens'), cost((3 + 2_000) / 1e6, 'estimated'))
    assert.deepEqual(await of('short/tokens'), cost((3 + 200) / 1e6, 'estimated'))
    assert.deepEqual(await of('priced/tokens', { system: 'four', max_output_tokens: 1 }), cost(6 / 1e6, 'estimated'))
  })

  test('estimated if a node may be skipped, or retried', async () => {
    const branch = graph(
      [node('if', 'control.If', { condition: true, value: 'x' }), ask('a', 'priced/flat')],
      ['if.if_true->a.system'],
    )
    assert.deepEqual(await costOf(branch), cost(0.25, 'estimated'))
    const last = graph(
      [node('each', 'control.ForEach', { list: [] }), node('last', 'control.Last'), ask('a', 'priced/flat')],
      ['each.item->last.item', 'last.item->a.prompt'],
    )
    assert.deepEqual(await costOf(last), cost(0.25, 'estimated'))
    const held = graph([ask('a', 'priced/flat'), node('catch', 'control.Catch')], ['a.text->catch.value'])
    assert.deepEqual(await costOf(held), cost(0.25, 'estimated'))
    const again = graph([ask('a', 'priced/flat', { retry: { attempts: 3 } })], [])
    assert.deepEqual(await costOf(again), cost(0.25, 'estimated'))
  })

  test('partial if the cost of some nodes is not known, and unknown if none is known', async () => {
    const of = graph([ask('a', 'priced/flat'), ask('b', 'priced/unpriced'), ask('c', 'nobody/x')], [])
    assert.deepEqual(await costOf(of), cost(0.25, 'partial', ['b', 'c']))
    assert.deepEqual(await costOf(graph([ask('b', 'priced/unpriced')], [])), cost(null, 'unknown', ['b']))
    assert.deepEqual(
      await costOf(graph([ask('b', 'priced/unpriced'), ask('c', 'priced/free')], [])),
      cost(null, 'unknown', ['b']),
    )
  })

  test('null if nothing has a cost, and at level static', async () => {
    assert.equal(await costOf(chat({ model: 'priced/free', prompt: 'x' })), null)
    assert.equal(await costOf(graph([], [])), null)
    assert.equal(await costOf(chat({ model: 'priced/flat', prompt: 'x' }), { level: 'static' }), null)
  })
})

describe('the cost is not known for', () => {
  const prompted = graph(
    [
      node('in', 'input.String', { name: 'text', value: 'one two' }),
      node('same', 'text.Template', { template: '{{t}}' }),
      ask('direct', 'priced/tokens', { prompt: null, max_output_tokens: 1 }),
      ask('made', 'priced/tokens', { prompt: null, max_output_tokens: 1 }),
      ask('answer', 'priced/output', { prompt: null, max_output_tokens: 1 }),
    ],
    ['in.output->direct.prompt', 'in.output->same.t', 'same.output->made.prompt', 'same.output->answer.prompt'],
  )

  test('a prompt that the run makes, unless input is free; a prompt from an input is counted', async () => {
    assert.deepEqual(await costOf(prompted), cost((2 + 2 + 3) / 1e6, 'partial', ['made']))
    const inputs = { text: 'one two three four' }
    assert.deepEqual(await costOf(prompted, { inputs }), cost((4 + 2 + 3) / 1e6, 'partial', ['made']))
  })

  test('a node in a stream, whose number of firings is not known', async () => {
    const of = graph(
      [node('each', 'control.ForEach', { list: ['a', 'b'] }), ask('a', 'priced/flat'), ask('f', 'priced/free')],
      ['each.item->a.system', 'each.item->f.system'],
    )
    assert.deepEqual(await costOf(of), cost(null, 'unknown', ['a']))
  })

  test('amounts in another currency than that of most nodes', async () => {
    const of = graph([ask('a', 'priced/euro'), ask('b', 'priced/flat'), ask('c', 'priced/euro')], [])
    assert.deepEqual(await costOf(of), cost(2, 'partial', ['b'], 'EUR'))
  })
})

describe('a called workflow', () => {
  test('costs as much as its nodes, for each call', async () => {
    const callee = await stored(server, graph([ask('x', 'priced/flat'), ask('y', 'priced/flat')], []))
    const twice = graph(
      ['a', 'b'].map((id) => node(id, 'workflow.Call', { workflow_id: callee })),
      [],
    )
    assert.deepEqual(await costOf(twice), cost(1, 'exact'))
    const outer = await stored(server, twice)
    assert.deepEqual(await costOf(calling(outer)), cost(1, 'exact'))
  })

  test('has an unknown cost if a part of it has, or if it is recursive', async () => {
    const part = await stored(server, graph([ask('x', 'priced/flat'), ask('y', 'priced/unpriced')], []))
    assert.deepEqual(await costOf(calling(part)), cost(0.25, 'partial', ['call']))
    const { workflows } = server.context.runs
    const me = { user_id: '1', workspace_id: null }
    const round = await stored(server, graph([], []))
    const again = graph([...calling(round).nodes, ask('x', 'priced/flat')], [])
    await workflows.update(me, round, { name: 'x', graph: again as never }, null)
    assert.deepEqual(await costOf(calling(round)), cost(null, 'unknown', ['call']))
  })

  test('that is called in a thousand ways is computed once', async () => {
    let last = await stored(server, graph([ask('x', 'priced/flat')], []))
    for (let depth = 0; depth < 10; depth++) {
      const both = ['a', 'b'].map((id) => node(id, 'workflow.Call', { workflow_id: last }))
      last = await stored(server, graph(both, []))
    }
    assert.deepEqual(await costOf(calling(last)), cost(256, 'exact'))
  })

  test('that is called in more ways than a number can hold has an unknown cost', async () => {
    let last = await stored(server, graph([ask('x', 'priced/flat')], []))
    for (let depth = 0; depth < 60; depth++) {
      const calls = Array.from({ length: 100 }, (_, at) => node(`c${at}`, 'workflow.Call', { workflow_id: last }))
      last = await stored(server, graph(calls, []))
    }
    assert.deepEqual(await costOf(calling(last)), cost(null, 'unknown', ['call']))
  })
})
