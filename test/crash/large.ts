// Workflows of the crash run with values that are too large for pages of the journal. These values are stored in separate files between
// nodes, during a wait, and for a retry. Calls and outputs contain their digests, so that a wrong value shows.

import type { Graph } from '../../src/engine/compile/graph.ts'
import { SPILL_THRESHOLD } from '../../src/jobs/values/spilled-value-store.ts'
import { sha256 } from '../../src/shared/hashes.ts'
import { node } from '../engine/kit.ts'
import { AT, call, joined, of, out, type Part } from './parts.ts'

/** Derives a large text from a short one. Calls of a node `big` are answered with one. */
export function largeOf(short: string): string {
  return short.repeat(Math.ceil(SPILL_THRESHOLD / short.length) + 1_000)
}

function digest(id: string, from: string): Part {
  return of([node(id, 'hash.Digest')], [`${from}->${id}.text`])
}

export const LARGE_GRAPHS = {
  /** A large value passes through slow nodes. */
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
  /** Each item of a stream is a large value, and so is the list of all. */
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
  /** All its values together exceed the size of a row. */
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
  /** A large input and a large result wait with the job for a person. */
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
  /** The retry takes over the values from before the failure. */
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
  /** A large value is saved as an asset. */
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

/** The inputs of a job, and the witness's answers to its calls. */
interface Asked {
  readonly items: readonly string[]
  readonly params: Readonly<Record<string, unknown>>
  readonly answer: unknown
}
interface Answers {
  get(node: string, index?: string): string
  post(node: string, index?: string): string
}

/** The expected outputs of each kind of job. */
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
