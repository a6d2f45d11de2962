// Workflows of the crash run whose values are too large for pages of the journal: they lie in files of their own between nodes, while a job waits,
// and for a retry. Digests of them stand in calls and outputs, so that another value than the one that was written shows.

import type { Graph } from '../../src/engine/compile/graph.ts'
import { SPILL_THRESHOLD } from '../../src/jobs/values/spilled-value-store.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { node } from '../engine/kit.ts'
import { AT, call, joined, of, out, type Part } from './parts.ts'

/** The large text that is made of a short one: calls of a node that is called `big` are answered with one. */
export function largeOf(short: string): string {
  return short.repeat(Math.ceil(SPILL_THRESHOLD / short.length) + 1_000)
}

function digest(id: string, from: string): Part {
  return of([node(id, 'hash.Digest')], [`${from}->${id}.text`])
}

export const LARGE_GRAPHS = {
  /** A large value goes through nodes that take their time. */
  passing: joined(
    AT,
    call('big', 'GET'),
    of([node('wait', 'control.Delay', { seconds: 0.15 })], ['big.body->wait.value']),
    digest('sum', 'wait.output'),
    call('b', 'GET', 'sum.output'),
    of([node('both', 'text.Concat')], ['big.body->both.a', 'b.body->both.b']),
    digest('last', 'both.output'),
    call('c', 'POST', 'last.output'),
    out('done', 'c.body'),
  ),
  /** Each item of a stream is one, and so is the list of all. */
  piling: joined(
    AT,
    of([node('items', 'input.List', { name: 'items' }), node('each', 'control.ForEach')], ['items.output->each.list']),
    call('big', 'GET', 'each.item'),
    digest('sum', 'big.body'),
    call('s', 'GET', 'sum.output'),
    of([node('all', 'control.Collect'), node('joined', 'text.Join')], ['big.body->all.item', 'all.list->joined.list']),
    digest('whole', 'joined.output'),
    out('each_out', 's.body'),
    out('list', 'whole.output'),
  ),
  /** All that it gives together is more than one row takes. */
  giving: joined(
    AT,
    of([node('items', 'input.List', { name: 'items' }), node('each', 'control.ForEach')], ['items.output->each.list']),
    call('big', 'GET', 'each.item'),
    of([node('all', 'control.Collect')], ['big.body->all.item']),
    digest('sum', 'big.body'),
    call('s', 'GET', 'sum.output'),
    out('each_out', 's.body'),
    out('large', 'big.body'),
    out('list', 'all.list'),
  ),
  /** One that a job was given, and one that it has made, wait with it for a person. */
  keeping: joined(
    AT,
    of([node('load', 'input.String', { name: 'load' })]),
    call('big', 'GET'),
    of([node('ask', 'human.Approval', { message: 'May it go on?' })], ['big.body->ask.value']),
    of(
      [node('both', 'text.Template', { template: '{{big}}{{load}}' })],
      ['ask.approved->both.big', 'load.output->both.load'],
    ),
    digest('sum', 'both.output'),
    call('b', 'POST', 'sum.output'),
    digest('other', 'ask.rejected'),
    out('done', 'b.body'),
    out('refused', 'other.output'),
  ),
  /** What had come before the failure is taken over by the retry. */
  stumbling: joined(
    AT,
    call('big', 'POST'),
    digest('sum', 'big.body'),
    call('flaky', 'GET', 'sum.output'),
    of([node('both', 'text.Concat')], ['big.body->both.a', 'flaky.body->both.b']),
    digest('last', 'both.output'),
    call('b', 'POST', 'last.output'),
    out('done', 'b.body'),
  ),
  /** One is kept as an asset. */
  saving: joined(
    AT,
    call('big', 'GET'),
    of(
      [node('save', 'asset.Save', { name: 'kept.txt' }), node('sum', 'dict.Get', { path: 'sha256' })],
      ['big.body->save.data', 'save.asset->sum.dict'],
    ),
    call('b', 'GET', 'sum.output'),
    out('done', 'b.body'),
  ),
} as const satisfies Record<string, Graph>

export type LargeKind = keyof typeof LARGE_GRAPHS

/** What a job was asked, and the answers of the witness to its calls. */
interface Asked {
  readonly items: readonly string[]
  readonly params: Readonly<Record<string, unknown>>
  readonly answer: unknown
}
interface Answers {
  get(node: string, index?: string): string
  post(node: string, index?: string): string
}

/** What a job of each kind must give. */
export const LARGE_EXPECTED: Readonly<Record<LargeKind, (asked: Asked, calls: Answers) => Record<string, unknown>>> = {
  passing: (_, { get, post }) => {
    const big = largeOf(get('big'))
    return { done: post('c', sha256(big + get('b', sha256(big)))) }
  },
  piling: ({ items }, { get }) => {
    const all = items.map((item) => largeOf(get('big', item)))
    return { each_out: all.map((big) => get('s', sha256(big))), list: sha256(all.join('')) }
  },
  giving: ({ items }, { get }) => {
    const list = items.map((item) => largeOf(get('big', item)))
    return { each_out: list.map((big) => get('s', sha256(big))), large: list, list }
  },
  keeping: ({ params, answer }, { get, post }) => {
    const big = largeOf(get('big'))
    return answer ? { done: post('b', sha256(big + params.load)) } : { refused: sha256(big) }
  },
  stumbling: (_, { get, post }) => {
    const big = largeOf(post('big'))
    return { done: post('b', sha256(big + get('flaky', sha256(big)))) }
  },
  saving: (_, { get }) => ({ done: get('b', sha256(largeOf(get('big')))) }),
}

export function isLarge(kind: string): kind is LargeKind {
  return kind in LARGE_GRAPHS
}
