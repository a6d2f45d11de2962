// The kinds of nodes of random graphs that may fail, and the one that catches.

import type { Kind } from './random-kinds.ts'
import { loop, number, plain, single, whole } from './random-kinds.ts'
import { RefError, Travelling } from './reference-firing.ts'

function refuse(value: number): void {
  if (value % 4 === 1) throw new RefError('odd', `No way with ${value}.`)
}

export const FAILURES: Record<string, Kind> = {
  Fail: {
    ...single([plain('a'), plain('b', 2)], ['output'], ({ a, b }) => {
      refuse(number(a) + number(b))
      return { output: (number(a) + number(b) * 3) % 1009 }
    }),
    fails: true,
  },
  Break: {
    fails: true,
    properties: [plain('a'), plain('b', 0)],
    streams: ['item'],
    handles: ['item', 'count'],
    items: 3,
    *fire({ a, b }) {
      const count = 1 + (number(a) % 3)
      for (let at = 0; at < count; at++) {
        refuse(number(a) + number(b) + at * 2)
        yield { item: number(a) + at * 5 }
      }
      return { count }
    },
  },
  Spoil: {
    ...single([whole('a'), plain('b', 0)], ['output'], ({ a, b }) => {
      let sum = number(b)
      for (const one of a as Iterable<unknown>) {
        refuse(number(one))
        sum += number(one)
      }
      refuse(sum)
      return { output: sum % 1009 }
    }),
    fails: true,
  },
  Strict: {
    fails: true,
    properties: [whole('a'), plain('b', 0)],
    streams: ['item'],
    handles: ['item', 'sum'],
    items: 9,
    *fire({ a, b }) {
      let sum = number(b)
      for (const one of a as Iterable<unknown>) {
        refuse(number(one) + number(b))
        sum += number(one)
        yield { item: (sum * 3) % 1009 }
      }
      return { sum: sum % 1009 }
    },
  },
  Catch: {
    ...single([{ name: 'value', required: true, catches: true }], ['value', 'error'], ({ value }) =>
      value instanceof Travelling ? { error: value.failure } : { value },
    ),
    built: 'control.Catch',
  },
}

/** A loop that fails after more than two rounds. */
export const HASTY: Record<string, Kind> = { Hasty: { ...loop(2), fails: true } }
