// Tests that nodes with the count `once` fire once in every completed run, whatever surrounds them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Plan } from '../../../src/engine/compile/compiler.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { NodeRegistry } from '../../../src/engine/node-api/node-type.ts'
import { executePlan } from '../../../src/engine/runtime/execution.ts'
import { countFiringsSteps } from '../../../src/lifecycle/preflight/firing-counts.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { control, edge, graph, node, planOf, Recorder, source } from '../../engine/kit.ts'
import { Builder, recipes } from '../../engine/random-graphs.ts'
import { MIXES } from '../../engine/random-mixes.ts'
import { Ledger, registryFor } from '../../engine/random-types.ts'
import { holds, limits, scale } from '../../engine/random-verdict.ts'

const RUNS = 250

/** Kinds of random graphs whose firings give all outputs, if they do not fail. */
const GIVING = ['Source', 'Add', 'Need', 'Collect', 'Fail', 'Spoil']

function marked(registry: NodeRegistry): NodeRegistry {
  const types = registry
    .all()
    .map((type) => (GIVING.includes(type.node_type.split('.')[0]!) ? { ...type, gives_all: true } : type))
  const byName = new Map(types.map((type) => [type.node_type, type]))
  return { get: (name) => byName.get(name), all: () => types }
}

function sureNodes(plan: Plan): string[] {
  const firings = runToCompletion(countFiringsSteps(plan))
  return plan.nodes.filter(({ index }) => firings[index] === 'once').map(({ observed }) => observed.node_id)
}

async function compare(steps: readonly string[], least: number): Promise<void> {
  let behind = 0
  await holds(fc.tuple(recipes(steps), limits), RUNS, async ([recipe, limit]) => {
    const [ledger, observer] = [new Ledger(), new Recorder()]
    const plan = planOf(new Builder(recipe).graph(), marked(registryFor(ledger)))
    const { signal } = new AbortController()
    const outcome = await executePlan(plan, { params: {}, signal, observer, random: () => 0.5, ...limit }).done
    if (outcome.status !== 'completed') return
    for (const id of sureNodes(plan)) {
      assert.deepEqual(observer.statuses(id), ['running', 'completed'], id)
      const { type, slots } = plan.nodes[plan.indexById.get(id)!]!
      if (/^(control|output)\./.test(type.node_type)) continue
      assert.equal(ledger.count(id), 1, id)
      if (slots.length > 0) behind++
    }
  })
  assert.ok(behind >= least * scale, `only ${behind} nodes behind others were said to fire once`)
}

describe('counted firings match the run in random graphs', () => {
  test('with streams and branches', () => compare(MIXES.streams, 300))

  test('with stream operators', () => compare(MIXES.weaves, 100))

  test('with failures', () => compare(MIXES.failures, 20))

  test('with all of them', () => compare(MIXES.all, 30))
})

const chat = (id: string) => node(id, 'chat.Complete', { model: 'm', prompt: 'x' })
const told = (of: Graph, id: string) => runToCompletion(countFiringsSteps(planOf(of)))[planOf(of).indexById.get(id)!]

describe('once', () => {
  test('fire the first nodes of a run, and nodes after those that give all outputs, including gathered streams', () => {
    const of = graph(
      [
        source('in', ['a']),
        node('each', 'control.ForEach'),
        node('all', 'control.Collect'),
        node('text', 'text.Join'),
        chat('one'),
        node('pieces', 'control.Collect'),
        chat('two'),
        chat('three'),
      ],
      [
        'in.output->each.list',
        'each.item->all.item',
        'all.list->text.list',
        'text.output->one.prompt',
        'one.text->pieces.item',
        'pieces.list->two.messages',
        control('two', 'three'),
      ],
    )
    for (const id of ['one', 'two', 'three']) assert.equal(told(of, id), 'once', id)
  })

  test('fires a node that does not need the input which may get no value', () => {
    const nodes = [source('in', true), node('if', 'control.If', { condition: true, value: 'x' }), chat('a'), chat('b')]
    const of = graph(nodes, ['in.output->a.prompt', 'if.if_true->a.system', 'if.if_true->b.system'])
    assert.deepEqual([told(of, 'a'), told(of, 'b')], ['once', 'perhaps'])
  })
})

describe('perhaps', () => {
  const behind = (from: Graph['nodes'][number], handle: string, feeding: string[] = [], more: Graph['nodes'] = []) =>
    told(graph([...more, from, chat('c')], [...feeding, `${from.id}.${handle}->c.prompt`]), 'c')

  test('fires a node after an output that may get no value, dynamic ones included', () => {
    const each = node('each', 'control.ForEach', { list: [] })
    assert.equal(behind(node('n', 'control.Last'), 'item', ['each.item->n.item'], [each]), 'perhaps')
    const dynamic = { dynamic_outputs: { out: { type: 'str' } } }
    assert.equal(behind(node('n', 'code.JavaScript', { code: 'return {}' }, dynamic), 'out'), 'perhaps')
    assert.equal(behind(node('n', 'workflow.Call', { workflow_id: 'w' }, dynamic), 'out'), 'perhaps')
    assert.equal(behind(node('n', 'constant.String'), 'output'), 'once')
  })

  test('fires a node after such a node, by a control edge as well', () => {
    const of = graph(
      [node('if', 'control.If', { condition: true }), node('t', 'text.Concat'), chat('a'), chat('b')],
      ['if.if_true->t.a', 't.output->a.prompt', control('a', 'b')],
    )
    assert.deepEqual([told(of, 'a'), told(of, 'b')], ['perhaps', 'perhaps'])
  })

  test('fires a node that gathers a stream which may be skipped, though its items may be missing', () => {
    const nodes = [node('if', 'control.If', { condition: false, value: ['x'] }), node('each', 'control.ForEach')]
    const of = graph(
      [...nodes, source('in', 'y'), node('n', 'text.Concat'), node('all', 'control.Collect'), chat('a')],
      ['if.if_true->each.list', 'each.item->n.a', 'in.output->n.b', 'n.output->all.item', 'all.list->a.messages'],
    )
    assert.equal(told(of, 'a'), 'perhaps')
  })

  test('fires a node that leads to a Catch: it may fail before it costs anything', () => {
    assert.equal(told(graph([chat('a'), node('catch', 'control.Catch')], ['a.text->catch.value']), 'a'), 'perhaps')
  })

  test('fires a node after one whose failure is caught', () => {
    const of = graph(
      [
        node('fail', 'control.Fail', { value: 'x' }),
        chat('a'),
        node('all', 'control.Collect'),
        node('catch', 'control.Catch'),
        node('t', 'constant.String'),
        node('u', 'text.Concat'),
        node('second', 'control.Catch'),
        chat('b'),
      ],
      [
        'fail.output->a.prompt',
        'a.text->all.item',
        'all.list->catch.value',
        't.output->u.a',
        'u.output->second.value',
        'u.output->b.prompt',
      ],
    )
    assert.deepEqual([told(of, 'a'), told(of, 'b')], ['perhaps', 'perhaps'])
  })

  test('fires a node that a stream operator may stop, and a node with several attempts', () => {
    const nodes = [chat('a'), node('each', 'control.ForEach', { list: ['x'] }), node('n', 'text.Concat')]
    const take = node('take', 'control.Take', { count: 0 })
    const of = graph(
      [...nodes, take, node('j', 'dict.Get', { key: 'model' })],
      ['a.usage->j.dict', edge('j.output->n.b'), 'each.item->n.a', 'n.output->take.item'],
    )
    assert.equal(told(of, 'a'), 'perhaps')
    const again = graph([node('a', 'chat.Complete', { model: 'm', prompt: 'x', retry: { attempts: 2 } })], [])
    assert.equal(told(again, 'a'), 'perhaps')
  })
})

test('a node in a stream fires as often as the stream has items', () => {
  const of = graph([node('each', 'control.ForEach', { list: [] }), chat('a')], ['each.item->a.prompt'])
  assert.equal(told(of, 'a'), 'unknown')
})
