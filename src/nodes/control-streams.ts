// control.*: what makes one value of a stream, or one stream of several.
import { type Inputs, type NodeType, STREAM_END, Want, type Weave } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output, required, stream } from './define.ts'
import { formulaOf, type Names } from './formula.ts'
import { Gathered } from './gathered.ts'
import { finite } from './values.ts'

/** A stream that is handed on, or looked at, item by item. */
const PASSING = { aggregate: true, keeps: 'last' } as const

/** The items of one stream that is read to its end. */
function* rest(name: string): Generator<Want, unknown[], unknown> {
  const gathered = new Gathered()
  for (let item = yield new Want(name); item !== STREAM_END; item = yield new Want(name)) gathered.add(item)
  return gathered.list
}

type Length = 'shortest' | 'longest'

function* zip({ length }: Inputs): Weave {
  for (let index = 0; ; index++) {
    const a = yield new Want('a')
    const b = yield new Want('b')
    const ended = [a, b].filter((one) => one === STREAM_END).length
    if (ended === 2 || (ended === 1 && (length as Length) === 'shortest')) return { count: index }
    const pair = [a, b].map((one) => (one === STREAM_END ? null : one))
    yield { ...(a === STREAM_END ? {} : { a }), ...(b === STREAM_END ? {} : { b }), pair, index }
  }
}

function* cross(): Weave {
  const others = yield* rest('b')
  if (others.length === 0) return { count: 0 }
  let index = 0
  for (let a = yield new Want('a'); a !== STREAM_END; a = yield new Want('a')) {
    for (const b of others) yield { a, b, index: index++ }
  }
  return { count: index }
}

function* take({ count, skip }: Inputs): Weave {
  let given = 0
  for (let left = Number(skip); left > 0; left--) if ((yield new Want('item')) === STREAM_END) return { count: 0 }
  while (given < Number(count)) {
    const item = yield new Want('item')
    if (item === STREAM_END) break
    yield { item, index: given++ }
  }
  return { count: given }
}

function* chain(): Weave {
  let index = 0
  for (const name of ['a', 'b']) {
    for (let item = yield new Want(name); item !== STREAM_END; item = yield new Want(name))
      yield { item, index: index++ }
  }
  return { count: index }
}

function* batch({ size }: Inputs): Weave {
  let gathered = new Gathered()
  let index = 0
  for (let item = yield new Want('item'); item !== STREAM_END; item = yield new Want('item')) {
    gathered.add(item)
    if (gathered.list.length < Number(size)) continue
    yield { list: gathered.list, index: index++ }
    gathered = new Gathered()
  }
  if (gathered.list.length > 0) yield { list: gathered.list, index: index++ }
  return { count: index }
}

export const weaveNodes: NodeType[] = [
  {
    node_type: 'control.Zip',
    title: 'Zip streams',
    description:
      'Joins two streams item by item: the first with the first, the second with the second. Items that got no value are left out beforehand.',
    properties: [
      required('a', 'any', 'One stream.', PASSING),
      required('b', 'any', 'The other stream.', PASSING),
      option('length', oneOf('shortest', 'longest'), 'Where it ends: with the shorter or with the longer stream.', {
        default: 'shortest',
      }),
    ],
    outputs: [
      stream('a', 'any'),
      stream('b', 'any'),
      stream('pair', 'list[any]'),
      stream('index', 'int'),
      output('count', 'int'),
    ],
    weave: zip,
  },
  {
    node_type: 'control.Cross',
    title: 'Cross streams',
    description:
      'Joins two streams each with each: every item of the first with all items of the second, which may have a million at most.',
    properties: [
      required('a', 'any', 'The stream that is gone through once.', PASSING),
      required('b', 'any', 'The stream that is gone through for each item of the first.', { aggregate: true }),
    ],
    outputs: [stream('a', 'any'), stream('b', 'any'), stream('index', 'int'), output('count', 'int')],
    weave: cross,
  },
  {
    node_type: 'control.Take',
    title: 'Take',
    description:
      'Gives the first items of a stream, after leaving some out. What comes behind them is not asked for: an endless stream ends here.',
    properties: [
      required('item', 'any', 'The stream.', PASSING),
      option('count', 'int', 'How many items to give.', { default: 1, min: 0 }),
      option('skip', 'int', 'How many items to leave out first.', { default: 0, min: 0 }),
    ],
    outputs: [stream('item', 'any'), stream('index', 'int'), output('count', 'int')],
    weave: take,
  },
  {
    node_type: 'control.Chain',
    title: 'Chain streams',
    description: 'Makes one stream of two: first all items of the one, then all of the other.',
    properties: [
      required('a', 'any', 'The stream that comes first.', PASSING),
      required('b', 'any', 'The stream that comes after it.', PASSING),
    ],
    outputs: [stream('item', 'any'), stream('index', 'int'), output('count', 'int')],
    weave: chain,
  },
  {
    node_type: 'control.Batch',
    title: 'Batch',
    description: 'Gathers the items of a stream into lists of some length. The last list may be shorter.',
    properties: [
      required('item', 'any', 'The stream.', { aggregate: true, keeps: 'since_item' }),
      option('size', 'int', 'How many items a list has.', { default: 10, min: 1, max: 1_000_000 }),
    ],
    outputs: [stream('list', 'list[any]'), stream('index', 'int'), output('count', 'int')],
    weave: batch,
  },
]

function numberOf(value: unknown): number {
  return typeof value === 'boolean' ? Number(value) : (value as number)
}

export const reduceNodes: NodeType[] = [
  {
    node_type: 'control.Reduce',
    title: 'Reduce',
    description:
      'Makes one number of a stream of numbers: for each item the formula gives the next total, out of `total`, `item` and `index`.',
    properties: [
      required('item', 'union[float,bool]', 'The stream.', PASSING),
      option('formula', 'str', 'The next total.', { default: 'total + item' }),
      option('initial', 'float', 'The total before the first item.', { default: 0 }),
    ],
    outputs: [output('result', 'float')],
    gives_all: true,
    expressions: { formula: formulaOf },
    open({ formula, initial }: Inputs) {
      const next = formulaOf(String(formula))
      let index = 0
      let total = Number(initial)
      return {
        push(item) {
          const names: Names = { total, item: numberOf(item), index: index++ }
          total = finite(next(names), 'The total')
        },
        end: () => ({ result: total }),
      }
    },
  },
  {
    node_type: 'control.Count',
    title: 'Count',
    description: 'Counts the items of a stream. Items that got no value do not count.',
    properties: [required('item', 'any', 'The stream.', PASSING)],
    outputs: [output('count', 'int')],
    gives_all: true,
    open() {
      let count = 0
      return {
        push() {
          count++
        },
        end: () => ({ count }),
      }
    },
  },
  {
    node_type: 'control.Last',
    title: 'Last',
    description: 'Gives the last item of a stream; nothing where the stream had none.',
    properties: [required('item', 'any', 'The stream.', PASSING)],
    outputs: [output('item', 'any')],
    open() {
      let last: unknown
      return {
        push(item) {
          last = item
        },
        end: () => ({ item: last }),
      }
    },
  },
]
