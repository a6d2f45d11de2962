// Workflows of the crash run whose values are too large for pages of the journal: they lie in files of their own between nodes, while a job waits,
// and for a retry. Digests of them stand in calls and outputs, so that another value than the one that was written shows.
import { createHash } from 'node:crypto'
import type { Graph } from '../../src/engine/graph.ts'
import { SPILLED_FROM } from '../../src/jobs/spilled-values.ts'
import { node } from '../engine/kit.ts'
import { AT, call, joined, of, out, type Part } from './parts.ts'

/** Characters of an answer of the witness; so many of them make a large value. */
const ANSWER = 12
const TIMES = Math.ceil(SPILLED_FROM / ANSWER) + 1_000

/** The large value that is made of a short one. */
export function largeOf(short: string): string {
  return short.repeat(TIMES)
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function large(id: string, from: string): Part {
  return of([node(id, 'text.Repeat', { times: TIMES })], [`${from}->${id}.text`])
}

function digest(id: string, from: string): Part {
  return of([node(id, 'hash.Digest')], [`${from}->${id}.text`])
}

export const LARGE_GRAPHS = {
  /** A large value goes through nodes that take their time. */
  passing: joined(
    AT,
    call('a', 'GET'),
    large('big', 'a.body'),
    of([node('wait', 'control.Delay', { seconds: 0.15 })], ['big.output->wait.value']),
    digest('sum', 'wait.output'),
    call('b', 'GET', 'sum.output'),
    of([node('both', 'text.Concat')], ['big.output->both.a', 'b.body->both.b']),
    digest('last', 'both.output'),
    call('c', 'POST', 'last.output'),
    out('done', 'c.body'),
  ),
  /** Each item of a stream is one, and so is the list of all. */
  piling: joined(
    AT,
    of([node('items', 'input.List', { name: 'items' }), node('each', 'control.ForEach')], ['items.output->each.list']),
    call('r', 'GET', 'each.item'),
    large('big', 'r.body'),
    digest('sum', 'big.output'),
    call('s', 'GET', 'sum.output'),
    of(
      [node('all', 'control.Collect'), node('joined', 'text.Join')],
      ['big.output->all.item', 'all.list->joined.list'],
    ),
    digest('whole', 'joined.output'),
    out('each_out', 's.body'),
    out('list', 'whole.output'),
  ),
  /** One that a job was given, and one that it has made, wait with it for a person. */
  keeping: joined(
    AT,
    of([node('load', 'input.String', { name: 'load' })]),
    call('a', 'GET'),
    large('big', 'a.body'),
    of([node('ask', 'human.Approval', { message: 'May it go on?' })], ['big.output->ask.value']),
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
    call('a', 'POST'),
    large('big', 'a.body'),
    digest('sum', 'big.output'),
    call('flaky', 'GET', 'sum.output'),
    of([node('both', 'text.Concat')], ['big.output->both.a', 'flaky.body->both.b']),
    digest('last', 'both.output'),
    call('b', 'POST', 'last.output'),
    out('done', 'b.body'),
  ),
  /** One is kept as an asset. */
  saving: joined(
    AT,
    call('a', 'GET'),
    large('big', 'a.body'),
    of(
      [node('save', 'asset.Save', { name: 'kept.txt' }), node('sum', 'dict.Get', { path: 'sha256' })],
      ['big.output->save.data', 'save.asset->sum.dict'],
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
    const big = largeOf(get('a'))
    return { done: post('c', digestOf(big + get('b', digestOf(big)))) }
  },
  piling: ({ items }, { get }) => {
    const all = items.map((item) => largeOf(get('r', item)))
    return { each_out: all.map((big) => get('s', digestOf(big))), list: digestOf(all.join('')) }
  },
  keeping: ({ params, answer }, { get, post }) => {
    const big = largeOf(get('a'))
    return answer ? { done: post('b', digestOf(big + params.load)) } : { refused: digestOf(big) }
  },
  stumbling: (_, { get, post }) => {
    const big = largeOf(post('a'))
    return { done: post('b', digestOf(big + get('flaky', digestOf(big)))) }
  },
  saving: (_, { get }) => ({ done: get('b', digestOf(largeOf(get('a')))) }),
}

export function isLarge(kind: string): kind is LargeKind {
  return kind in LARGE_GRAPHS
}
