// The built-in stream operators, loops and aggregates as kinds of random graphs, in plain code for the reference evaluator.
import { feedback, type Kind, plain, single, whole } from './random-kinds.ts'

function* rest(stream: unknown): Generator<unknown> {
  yield* stream as Iterable<unknown>
}

export const BUILT_WEAVES: Record<string, Kind> = {
  BuiltZip: {
    built: 'control.Zip',
    properties: [whole('a'), whole('b')],
    streams: ['a', 'b', 'pair', 'index'],
    handles: ['a', 'b', 'pair', 'index', 'count'],
    items: 9,
    *fire(inputs) {
      const [first, second] = [inputs.a, inputs.b] as [Iterator<unknown>, Iterator<unknown>]
      for (let index = 0; ; index++) {
        const [a, b] = [first.next(), second.next()]
        if (a.done || b.done) return { count: index }
        yield { a: a.value, b: b.value, pair: [a.value, b.value], index }
      }
    },
  },
  BuiltCross: {
    built: 'control.Cross',
    properties: [whole('a'), whole('b')],
    streams: ['a', 'b', 'index'],
    handles: ['a', 'b', 'index', 'count'],
    items: 9,
    *fire(inputs) {
      const others = [...rest(inputs.b)]
      if (others.length === 0) return { count: 0 }
      let index = 0
      for (const a of rest(inputs.a)) for (const b of others) yield { a, b, index: index++ }
      return { count: index }
    },
  },
  BuiltTake: {
    built: 'control.Take',
    properties: [whole('item')],
    streams: ['item', 'index'],
    handles: ['item', 'index', 'count'],
    items: 2,
    data: { count: 2, skip: 1 },
    *fire({ item }) {
      const stream = item as Iterator<unknown>
      if (stream.next().done) return { count: 0 }
      for (let index = 0; index < 2; index++) {
        const next = stream.next()
        if (next.done) return { count: index }
        yield { item: next.value, index }
      }
      return { count: 2 }
    },
  },
  BuiltCount: {
    ...single([whole('item')], ['count'], ({ item }) => ({ count: [...rest(item)].length })),
    built: 'control.Count',
  },
  BuiltLast: {
    ...single([whole('item')], ['item'], ({ item }) => {
      const items = [...rest(item)]
      return items.length > 0 ? { item: items.at(-1) } : {}
    }),
    built: 'control.Last',
  },
}

export const BUILT_LOOPS: Record<string, Kind> = {
  BuiltLoop: {
    built: 'control.Loop',
    properties: [plain('initial'), feedback('next')],
    streams: ['value', 'index'],
    handles: ['value', 'index', 'result', 'rounds'],
    items: 3,
    data: { times: 3 },
    *fire({ initial }) {
      let value = initial
      for (let index = 0; index < 3; index++) {
        const { next }: Record<string, unknown> = yield { value, index }
        if (next === undefined) return { result: value, rounds: index }
        value = next
      }
      return { result: value, rounds: 3 }
    },
  },
}
