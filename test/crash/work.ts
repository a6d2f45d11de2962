// The work of one job of the crash run, and its expected results: its params, its possible calls and its outputs.
import { answerTo, type Method } from './counter.ts'
import { GRAPHS, type KindName } from './graphs.ts'
import { LARGE_EXPECTED, largeOf } from './large.ts'
import type { Random } from './random.ts'

export interface Work {
  readonly kind: KindName
  /** The harness's name of the job, which is in the path of every call. */
  readonly label: string
  readonly params: Readonly<Record<string, unknown>>
  readonly items: readonly string[]
  /** The answer to the waiting job. Undefined where the job asks for nothing. */
  readonly answer: unknown
  /** Values that are sent while it runs. */
  readonly pushes: readonly string[]
  /** Whether it is cancelled in any case. */
  readonly doomed: boolean
}

export interface Expected {
  readonly outputs: Readonly<Record<string, unknown>>
  readonly calls: readonly { readonly method: Method; readonly path: string }[]
}

/** How often each kind is chosen. */
export const SHARES: Readonly<Record<KindName, number>> = {
  fast: 2,
  reading: 3,
  writing: 3,
  each_reading: 3,
  each_writing: 2,
  burst: 0,
  chained: 4,
  coded: 2,
  branching: 2,
  calling: 8,
  approval: 2,
  awaiting: 2,
  later: 0,
  fed: 3,
  flaky: 2,
  spinning: 1,
  passing: 2,
  piling: 1,
  giving: 1,
  keeping: 1,
  stumbling: 2,
  saving: 1,
}

/** Streamed outputs. */
export const STREAMS: ReadonlySet<string> = new Set(['each_out', 'picks', 'echo', 'large'])

/** Kinds without unsafe calls. A kill never makes them fail. */
export const SAFE_KINDS: ReadonlySet<KindName> = new Set([
  'fast',
  'reading',
  'each_reading',
  'chained',
  'coded',
  'fed',
  'piling',
  'giving',
  'saving',
])

/** A burst with this many items has not ended when it is cancelled. */
const BURST = 300

export function plan(kind: KindName, label: string, host: string, random: Random): Work {
  const items = 'items' in inputsOf(kind) ? numbers(kind === 'burst' ? BURST : random.int(3, 9)) : []
  const params: Record<string, unknown> = { at: `http://${host}/${label}` }
  if (items.length > 0) params.items = items
  if (kind === 'branching') params.way = random.chance(0.5)
  if (kind === 'keeping') params.load = largeOf(answerTo('GET', `/${label}/load`))
  return {
    kind,
    label,
    params,
    items,
    answer: answerFor(kind, random),
    pushes: kind === 'fed' ? numbers(random.int(4, 12)) : [],
    doomed: kind === 'burst' || random.chance(kind === 'spinning' ? 0.8 : 0.06),
  }
}

function answerFor(kind: KindName, random: Random): unknown {
  if (kind === 'awaiting') return random.int(0, 1_000)
  return kind === 'approval' || kind === 'keeping' ? random.chance(0.7) : undefined
}

function inputsOf(kind: KindName): Readonly<Record<string, true>> {
  return Object.fromEntries(
    GRAPHS[kind].nodes.filter(({ type }) => type.startsWith('input.')).map(({ id }) => [id, true]),
  )
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index))
}

/** Records the calls of a job, and returns their answers. */
class Trace {
  readonly calls: { method: Method; path: string }[] = []
  readonly #label: string

  constructor(label: string) {
    this.#label = label
  }

  get = (node: string, index = '0'): string => this.#call('GET', node, index)
  put = (node: string, index = '0'): string => this.#call('PUT', node, index)
  post = (node: string, index = '0'): string => this.#call('POST', node, index)

  #call(method: Method, node: string, index: string): string {
    const path = `/${this.#label}/${node}/${index}`
    this.calls.push({ method, path })
    return answerTo(method, path)
  }
}

type Outputs = Record<string, unknown>

/** The expected outputs of each kind. Values that only the run can know are taken from its outputs. */
const EXPECTED: Readonly<Record<KindName, (work: Work, trace: Trace, given: Outputs) => Outputs>> = {
  ...LARGE_EXPECTED,
  fast: ({ params }) => ({ said: `Hello, ${params.at}!` }),
  reading: (_, { get }) => ({ read: get('c', get('b', get('a'))) }),
  writing: (_, { get, post }) => {
    const first = post('a')
    return { first, last: post('d', get('c', post('b', first))) }
  },
  each_reading: ({ items }, { get }) => {
    const list = items.map((item) => get('each_call', item))
    return { each_out: list, list }
  },
  each_writing: ({ items }, { post }) => {
    const list = items.map((item) => post('each_call', item))
    return { each_out: list, list }
  },
  burst: ({ items }, { post }) => ({ each_out: items.map((item) => post('quick', item)) }),
  chained: ({ items }, { get, put }) => {
    const list = items.map((item) => get('each_call', put('kept', get('draw', item))))
    return { each_out: list, list }
  },
  coded: ({ items }, { get }, { picks }) => ({
    picks: items.map((item, at) => picked(item, Array.isArray(picks) ? picks[at] : null)),
    each_out: items.map((item) => get('each_call', item)),
  }),
  branching: ({ params }, { get, post }) => {
    get('fail')
    return { held_out: 'fail', taken: params.way ? post('yes', 'fail') : get('no', 'fail') }
  },
  calling: ({ items }, { get, post }) => ({ each_out: items.map((item) => post('quick', get('s', get('r', item)))) }),
  approval: ({ answer }, { get, post }) => {
    const a = get('a')
    return answer ? { done: post('b', a) } : { refused: a }
  },
  awaiting: ({ answer }, { get, post }) => ({ done: get('c', post('b', String(answer))) }),
  later: (_, { post }) => ({ done: post('b', post('a')) }),
  fed: (_, { get }, { echo }) => {
    const values = Array.isArray(echo) ? echo.map(String) : []
    return { echo: values, each_out: values.map((value) => get('each_call', value)) }
  },
  flaky: (_, { get, post }) => ({ done: post('b', get('flaky', post('a'))) }),
  spinning: (_, { get, post }) => {
    get('a')
    return { done: post('b', '20000000') }
  },
}

/** `given`, where it is the item with a random number. */
function picked(item: string, given: unknown): string {
  return typeof given === 'string' && /^\d+:0\.\d+(e-\d+)?$/.test(given) && given.startsWith(`${item}:`)
    ? given
    : `${item}:<a random number>`
}

export function expected(work: Work, given: Readonly<Outputs> = {}): Expected {
  const trace = new Trace(work.label)
  const outputs = EXPECTED[work.kind](work, trace, given)
  return { outputs, calls: trace.calls }
}

/** Every possible call of a job, whether the job reaches it or not. */
export function possibleCalls(work: Work): Expected['calls'] {
  return expected(work, { echo: work.pushes }).calls
}
