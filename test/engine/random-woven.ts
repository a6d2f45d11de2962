// The stream operators and loops of random graphs as code of the engine, and the failing aggregates: written independently of the kinds of
// the reference evaluator.
import {
  type InputValues,
  ItemRequest,
  type LoopFiring,
  STREAM_END,
  type StreamOperatorFiring,
} from '../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { number } from './random-kinds.ts'

/** Aggregates that fail at an item. */
export const CHECKS: Record<string, (given: unknown) => void> = {
  Spoil(given) {
    if (number(given) % 4 === 1) throw new NodeError(`No way with ${number(given)}.`, 'odd')
  },
}

/** The stream operators of random graphs as code of the engine. */
export const WOVEN: Record<string, (inputs: InputValues) => StreamOperatorFiring> = {
  *Zip() {
    for (let count = 0; ; count++) {
      const a = yield new ItemRequest('a')
      const b = a === STREAM_END ? a : yield new ItemRequest('b')
      if (b === STREAM_END) return { count }
      const pair = (number(a) * 3 + number(b)) % 1009
      yield pair % 2 === 0 ? { pair, even: count } : { pair }
    }
  },
  *Cross({ c }) {
    const columns: unknown[] = []
    for (let b = yield new ItemRequest('b'); b !== STREAM_END; b = yield new ItemRequest('b')) columns.push(b)
    let rows = 0
    for (let a = yield new ItemRequest('a'); a !== STREAM_END; a = yield new ItemRequest('a')) {
      rows++
      for (const b of columns.slice(0, 4)) yield { pair: (number(a) * 5 + number(b) + number(c)) % 1009 }
    }
    return { rows }
  },
  *Take({ count }) {
    let taken = 0
    for (; taken < number(count) % 4; taken++) {
      const item = yield new ItemRequest('a')
      if (item === STREAM_END) break
      yield { item }
    }
    return { taken }
  },
  *Strict({ b }) {
    let sum = number(b)
    for (let a = yield new ItemRequest('a'); a !== STREAM_END; a = yield new ItemRequest('a')) {
      const checked = number(a) + number(b)
      if (checked % 4 === 1) throw new NodeError(`No way with ${checked}.`, 'odd')
      sum += number(a)
      yield { item: (sum * 3) % 1009 }
    }
    return { sum: sum % 1009 }
  },
}

/** A loop of at most `limit` rounds. */
export function rounds(limit: number, { initial, times }: InputValues): LoopFiring {
  let value = initial
  let index = 0
  return {
    first: () => ({ item: { value, index } }),
    next: (back) => {
      index++
      if (!Object.hasOwn(back, 'next')) return { outputs: { result: value, rounds: index } }
      const until = Object.hasOwn(back, 'until') && number(back.until) % 3 === 2
      if (until || index >= 1 + (number(times) % 4)) return { outputs: { result: back.next, rounds: index } }
      if (index === limit) throw new NodeError(`More than ${limit} rounds.`, 'too_many')
      value = back.next
      return { item: { value, index } }
    },
  }
}
