// The workflows of the crash run, one for each situation in which a kill can interrupt a job.
import type { Graph } from '../../src/engine/compile/graph.ts'
import { node } from '../engine/kit.ts'
import { LARGE_GRAPHS } from './large.ts'
import { AT, call, joined, of, out } from './parts.ts'

const ITEMS = of([node('items', 'input.List', { name: 'items' })])
const EACH = of([node('each', 'control.ForEach')], ['items.output->each.list'])
const COLLECT = of([node('all', 'control.Collect')], ['each_call.body->all.item'])

const text = { type: 'str', optional: false, values: [], type_args: [], type_name: null }

/** Yields an item for each of `items`, and a random number that must be the same after a kill. */
const CODE = "for (const n of items) yield { n, pick: n + ':' + Math.random() }"

/** On a busy machine code gets far less processor time than its clock shows. These tests do not test long code. */
const PATIENT = { time_limit_ms: 60_000 }

/** Takes a moment to finish, so that a cancellation finds it at work. */
const SPIN = 'let n = 0; while (n < 20_000_000) n++; return { n: String(n) }'

export const GRAPHS = {
  ...LARGE_GRAPHS,
  fast: joined(
    AT,
    of([node('say', 'text.Template', { template: 'Hello, {{at}}!' })], ['at.output->say.at']),
    out('said', 'say.output'),
  ),
  reading: joined(
    AT,
    call('a', 'GET'),
    of([node('wait', 'control.Delay', { seconds: 0.15 })], ['a.body->wait.value']),
    call('b', 'GET', 'wait.output'),
    call('c', 'GET', 'b.body'),
    out('read', 'c.body'),
  ),
  writing: joined(
    AT,
    call('a', 'POST'),
    call('b', 'POST', 'a.body'),
    call('c', 'GET', 'b.body'),
    call('d', 'POST', 'c.body'),
    out('first', 'a.body'),
    out('last', 'd.body'),
  ),
  each_reading: joined(
    AT,
    ITEMS,
    EACH,
    call('each_call', 'GET', 'each.item'),
    COLLECT,
    out('each_out', 'each_call.body'),
    out('list', 'all.list'),
  ),
  each_writing: joined(
    AT,
    ITEMS,
    EACH,
    call('each_call', 'POST', 'each.item'),
    COLLECT,
    out('each_out', 'each_call.body'),
    out('list', 'all.list'),
  ),
  burst: joined(AT, ITEMS, EACH, call('quick', 'POST', 'each.item'), out('each_out', 'quick.body')),
  /** Safe calls, each with the answer to the call before it. */
  chained: joined(
    AT,
    ITEMS,
    EACH,
    call('draw', 'GET', 'each.item'),
    call('kept', 'PUT', 'draw.body'),
    call('each_call', 'GET', 'kept.body'),
    COLLECT,
    out('each_out', 'each_call.body'),
    out('list', 'all.list'),
  ),
  coded: joined(
    AT,
    ITEMS,
    of(
      [
        node(
          'code',
          'code.JavaScript',
          { code: CODE, ...PATIENT },
          { dynamic_outputs: { n: { ...text, stream: true }, pick: { ...text, stream: true } } },
        ),
      ],
      ['items.output->code.items'],
    ),
    call('each_call', 'GET', 'code.n'),
    out('picks', 'code.pick'),
    out('each_out', 'each_call.body'),
  ),
  branching: joined(
    AT,
    of([node('way', 'input.Boolean', { name: 'way' }), node('if', 'control.If')], ['way.output->if.condition']),
    call('fail', 'GET'),
    of([node('catch', 'control.Catch')], ['fail.body->catch.value']),
    of([node('held', 'dict.Get', { path: 'node_id' })], ['catch.error->held.dict', 'held.output->if.value']),
    call('yes', 'POST', 'if.if_true'),
    call('no', 'GET', 'if.if_false'),
    of([node('either', 'control.Coalesce')], ['yes.body->either.a', 'no.body->either.b']),
    out('held_out', 'held.output'),
    out('taken', 'either.output'),
  ),
  calling: joined(AT, ITEMS, EACH, {
    nodes: [
      node('call', 'workflow.Call', { workflow_id: 'inner' }, { dynamic_outputs: { done: text } }),
      ...out('each_out', 'call.done').nodes,
    ],
    edges: ['at.output->call.at', 'each.item->call.item', 'call.done->each_out.value'],
  }),
  approval: joined(
    AT,
    call('a', 'GET'),
    of([node('ask', 'human.Approval', { message: 'May it go on?' })], ['a.body->ask.value']),
    call('b', 'POST', 'ask.approved'),
    out('done', 'b.body'),
    out('refused', 'ask.rejected'),
  ),
  awaiting: joined(
    AT,
    of([node('figure', 'control.WaitFor', { name: 'figure', schema: { type: 'integer' } })]),
    call('b', 'POST', 'figure.value'),
    call('c', 'GET', 'b.body'),
    out('done', 'c.body'),
  ),
  later: joined(
    AT,
    call('a', 'POST'),
    of([node('wait', 'control.Delay', { seconds: 31 })], ['a.body->wait.value']),
    call('b', 'POST', 'wait.output'),
    out('done', 'b.body'),
  ),
  fed: joined(
    AT,
    of([node('values', 'input.Any', { name: 'values', stream: true })]),
    call('each_call', 'GET', 'values.output'),
    out('echo', 'values.output'),
    out('each_out', 'each_call.body'),
  ),
  flaky: joined(
    AT,
    call('a', 'POST'),
    call('flaky', 'GET', 'a.body'),
    call('b', 'POST', 'flaky.body'),
    out('done', 'b.body'),
  ),
  spinning: joined(
    AT,
    call('a', 'GET'),
    of(
      [node('code', 'code.JavaScript', { code: SPIN, ...PATIENT }, { dynamic_outputs: { n: text } })],
      ['a.body->code.after'],
    ),
    call('b', 'POST', 'code.n'),
    out('done', 'b.body'),
  ),
} as const satisfies Record<string, Graph>

/** The calls of `calling` for each of its items. */
export const INNER: Graph = joined(
  AT,
  of([node('item', 'input.Any', { name: 'item' })]),
  call('r', 'GET', 'item.output'),
  call('s', 'GET', 'r.body'),
  call('quick', 'POST', 's.body'),
  out('done', 'quick.body'),
)

export type KindName = keyof typeof GRAPHS

export const KINDS = Object.keys(GRAPHS) as KindName[]
