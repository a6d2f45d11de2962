// The kinds of nodes in random graphs, as the reference evaluator knows them: plain functions of small numbers.
import { RefError } from './reference-firing.ts'
import type { RefType } from './reference-shape.ts'

type Values = Record<string, unknown>

/** Any value as a small number, so that every node can work on every value. */
export function number(value: unknown): number {
  if (typeof value === 'number') return value
  if (Array.isArray(value)) return value.reduce((sum: number, one) => (sum * 3 + number(one)) % 1009, value.length)
  return value === null || value === undefined ? 7 : 1
}

export interface Kind extends RefType {
  handles: string[]
  /** The largest number of items per firing. */
  items?: number
  /** The type in the graph, if it is a built-in one. */
  built?: string
  /** Own values of every node of the kind. */
  data?: Values
}

export const plain = (name: string, fallback?: number) => ({ name, required: fallback === undefined, fallback })
export const whole = (name: string) => ({ name, required: true, whole: true })
export const feedback = (name: string) => ({ name, required: false, feedback: true })

/** A kind without streams. */
export function single(properties: Kind['properties'], handles: string[], of: (inputs: Values) => Values): Kind {
  return {
    properties,
    handles,
    streams: [],
    fire: (inputs) => ({ next: () => ({ done: true, value: of(inputs) }) }),
  }
}

export const PLAIN: Record<string, Kind> = {
  Source: single([plain('seed', 1)], ['output'], ({ seed }) => ({ output: seed })),
  Add: single([plain('a', 10), plain('b', 20)], ['output'], ({ a, b }) => ({
    output: (number(a) * 2 + number(b)) % 1009,
  })),
  Need: single([plain('a'), plain('b')], ['output'], ({ a, b }) => ({ output: (number(a) + number(b) * 5) % 1009 })),
  Branch: single([plain('a'), plain('b', 1)], ['even', 'odd'], ({ a, b }) => ({
    [number(a) % 2 === 0 ? 'even' : 'odd']: number(a) + number(b),
  })),
  Expand: {
    properties: [plain('a'), plain('b', 0)],
    streams: ['item', 'third'],
    handles: ['item', 'third', 'count'],
    items: 3,
    *fire({ a, b }) {
      const count = number(a) % 4
      for (let at = 0; at < count; at++) {
        const item = number(a) + at * 7 + number(b)
        yield item % 3 === 0 ? { item, third: at } : { item }
      }
      return number(a) % 5 === 0 ? {} : { count }
    },
  },
  Collect: single([whole('a'), plain('b', 3)], ['output'], ({ a, b }) => ({
    output: [number(b), ...[...(a as Iterable<unknown>)].map(number)],
  })),
}

export const WEAVES: Record<string, Kind> = {
  Zip: {
    properties: [whole('a'), whole('b')],
    streams: ['pair', 'even'],
    handles: ['pair', 'even', 'count'],
    items: 9,
    *fire(inputs) {
      const [first, second] = [inputs.a, inputs.b] as [Iterator<unknown>, Iterator<unknown>]
      for (let count = 0; ; count++) {
        const a = first.next()
        const b = a.done ? a : second.next()
        if (b.done) return { count }
        const pair = (number(a.value) * 3 + number(b.value)) % 1009
        yield pair % 2 === 0 ? { pair, even: count } : { pair }
      }
    },
  },
  Cross: {
    properties: [whole('a'), whole('b'), plain('c', 2)],
    streams: ['pair'],
    handles: ['pair', 'rows'],
    items: 12,
    *fire({ a, b, c }) {
      const columns = [...(b as Iterable<unknown>)].slice(0, 4)
      let rows = 0
      for (const row of a as Iterable<unknown>) {
        rows++
        for (const column of columns) yield { pair: (number(row) * 5 + number(column) + number(c)) % 1009 }
      }
      return { rows }
    },
  },
  Take: {
    properties: [whole('a'), plain('count', 2)],
    streams: ['item'],
    handles: ['item', 'taken'],
    items: 3,
    *fire({ a, count }) {
      const most = number(count) % 4
      for (let taken = 0; taken < most; taken++) {
        const next = (a as Iterator<unknown>).next()
        if (next.done) return { taken }
        yield { item: next.value }
      }
      return { taken: most }
    },
  },
}

const ENDLESS: Kind = {
  properties: [plain('a'), plain('step', 2)],
  streams: ['item'],
  handles: ['item'],
  items: 1,
  endless: true,
  *fire({ a, step }) {
    for (let at = 0; ; at++) yield { item: (number(a) + at * number(step)) % 1009 }
  },
}

export const STREAMS_WITHOUT_END: Record<string, Kind> = { Endless: ENDLESS }

/** Loops of at most `limit` rounds; more fail. */
export function loop(limit: number): Kind {
  return {
    properties: [plain('initial'), plain('times', 3), feedback('next'), feedback('until')],
    streams: ['value', 'index'],
    handles: ['value', 'index', 'result', 'rounds'],
    items: limit,
    *fire({ initial, times }) {
      let value = initial
      for (let index = 0; ; index++) {
        const back = yield { value, index }
        const rounds = index + 1
        if (!('next' in back)) return { result: value, rounds }
        const until = 'until' in back && number(back.until) % 3 === 2
        if (until || rounds >= 1 + (number(times) % 4)) return { result: back.next, rounds }
        if (rounds === limit) throw new RefError('too_many', `More than ${limit} rounds.`)
        value = back.next
      }
    },
  }
}

export const LOOPS: Record<string, Kind> = { Loop: loop(4) }
