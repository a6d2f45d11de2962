// control.*: nodes that turn one stream into a value, or several streams into one.
import {
  type InputValues,
  ItemRequest,
  STREAM_END,
  type StreamOperatorFiring,
} from '../../engine/node-api/firing-forms.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { type FormulaVariables, parseFormula } from '../shared/formula/parser.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { requireFinite } from '../shared/value-operations.ts'
import { ItemCollector } from './item-collector.ts'

/** Marks a stream that the node reads item by item and need not keep. */
const ITEM_BY_ITEM = { aggregate: true, keeps: 'last' } as const

/** Reads one stream to its end and gathers its items. */
function* collectStream(name: string): Generator<ItemRequest, unknown[], unknown> {
  const gathered = new ItemCollector()
  for (let item = yield new ItemRequest(name); item !== STREAM_END; item = yield new ItemRequest(name))
    gathered.add(item)
  return gathered.list
}

type ZipLength = 'shortest' | 'longest'

function* zip({ length }: InputValues): StreamOperatorFiring {
  for (let index = 0; ; index++) {
    const a = yield new ItemRequest('a')
    const b = yield new ItemRequest('b')
    const ended = [a, b].filter((one) => one === STREAM_END).length
    if (ended === 2 || (ended === 1 && (length as ZipLength) === 'shortest')) return { count: index }
    const pair = [a, b].map((one) => (one === STREAM_END ? null : one))
    yield { ...(a === STREAM_END ? {} : { a }), ...(b === STREAM_END ? {} : { b }), pair, index }
  }
}

function* cross(): StreamOperatorFiring {
  const others = yield* collectStream('b')
  if (others.length === 0) return { count: 0 }
  let index = 0
  for (let a = yield new ItemRequest('a'); a !== STREAM_END; a = yield new ItemRequest('a')) {
    for (const b of others) yield { a, b, index: index++ }
  }
  return { count: index }
}

function* take({ count, skip }: InputValues): StreamOperatorFiring {
  let given = 0
  for (let left = Number(skip); left > 0; left--)
    if ((yield new ItemRequest('item')) === STREAM_END) return { count: 0 }
  while (given < Number(count)) {
    const item = yield new ItemRequest('item')
    if (item === STREAM_END) break
    yield { item, index: given++ }
  }
  return { count: given }
}

function* chain(): StreamOperatorFiring {
  let index = 0
  for (const name of ['a', 'b']) {
    for (let item = yield new ItemRequest(name); item !== STREAM_END; item = yield new ItemRequest(name))
      yield { item, index: index++ }
  }
  return { count: index }
}

function* batch({ size }: InputValues): StreamOperatorFiring {
  let gathered = new ItemCollector()
  let index = 0
  for (let item = yield new ItemRequest('item'); item !== STREAM_END; item = yield new ItemRequest('item')) {
    gathered.add(item)
    if (gathered.list.length < Number(size)) continue
    yield { list: gathered.list, index: index++ }
    gathered = new ItemCollector()
  }
  if (gathered.list.length > 0) yield { list: gathered.list, index: index++ }
  return { count: index }
}

export const multiStreamNodes: NodeType[] = [
  {
    node_type: 'control.Zip',
    title: 'Zip streams',
    description:
      'Joins two streams item by item: the first with the first, the second with the second. Items without a value are skipped before.',
    properties: [
      requiredProperty('a', 'any', 'One stream.', ITEM_BY_ITEM),
      requiredProperty('b', 'any', 'The other stream.', ITEM_BY_ITEM),
      optionalProperty(
        'length',
        createEnumType('shortest', 'longest'),
        'Whether it ends with the shorter or with the longer stream.',
        {
          default: 'shortest',
        },
      ),
    ],
    outputs: [
      streamOutput('a', 'any'),
      streamOutput('b', 'any'),
      streamOutput('pair', 'list[any]'),
      streamOutput('index', 'int'),
      valueOutput('count', 'int'),
    ],
    streamOperator: zip,
  },
  {
    node_type: 'control.Cross',
    title: 'Cross streams',
    description:
      'Joins every item of the first stream with every item of the second. The second stream may have at most a million items.',
    properties: [
      requiredProperty('a', 'any', 'The stream that is read once.', ITEM_BY_ITEM),
      requiredProperty('b', 'any', 'The stream that is repeated for each item of the first.', { aggregate: true }),
    ],
    outputs: [
      streamOutput('a', 'any'),
      streamOutput('b', 'any'),
      streamOutput('index', 'int'),
      valueOutput('count', 'int'),
    ],
    streamOperator: cross,
  },
  {
    node_type: 'control.Take',
    title: 'Take',
    description:
      'Gives the first items of a stream, after skipping some. Later items are not requested, so an endless stream ends here.',
    properties: [
      requiredProperty('item', 'any', 'The stream.', ITEM_BY_ITEM),
      optionalProperty('count', 'int', 'How many items to give.', { default: 1, min: 0 }),
      optionalProperty('skip', 'int', 'How many items to skip first.', { default: 0, min: 0 }),
    ],
    outputs: [streamOutput('item', 'any'), streamOutput('index', 'int'), valueOutput('count', 'int')],
    streamOperator: take,
  },
  {
    node_type: 'control.Chain',
    title: 'Chain streams',
    description: 'Makes one stream of two: first all items of a, then all items of b.',
    properties: [
      requiredProperty('a', 'any', 'The stream that comes first.', ITEM_BY_ITEM),
      requiredProperty('b', 'any', 'The stream that comes after it.', ITEM_BY_ITEM),
    ],
    outputs: [streamOutput('item', 'any'), streamOutput('index', 'int'), valueOutput('count', 'int')],
    streamOperator: chain,
  },
  {
    node_type: 'control.Batch',
    title: 'Batch',
    description: 'Gathers the items of a stream into lists of equal length. The last list may be shorter.',
    properties: [
      requiredProperty('item', 'any', 'The stream.', { aggregate: true, keeps: 'since_item' }),
      optionalProperty('size', 'int', 'How many items a list has.', { default: 10, min: 1, max: 1_000_000 }),
    ],
    outputs: [streamOutput('list', 'list[any]'), streamOutput('index', 'int'), valueOutput('count', 'int')],
    streamOperator: batch,
  },
]

function toNumber(value: unknown): number {
  return typeof value === 'boolean' ? Number(value) : (value as number)
}

export const streamReducerNodes: NodeType[] = [
  {
    node_type: 'control.Reduce',
    title: 'Reduce',
    description:
      'Reduces a stream of numbers to one number. For each item, the formula computes the next total from `total`, `item` and `index`.',
    properties: [
      requiredProperty('item', 'union[float,bool]', 'The stream.', ITEM_BY_ITEM),
      optionalProperty('formula', 'str', 'The next total.', { default: 'total + item' }),
      optionalProperty('initial', 'float', 'The total before the first item.', { default: 0 }),
    ],
    outputs: [valueOutput('result', 'float')],
    gives_all: true,
    expressions: { formula: parseFormula },
    open({ formula, initial }: InputValues) {
      const next = parseFormula(String(formula))
      let index = 0
      let total = Number(initial)
      return {
        push(item) {
          const names: FormulaVariables = { total, item: toNumber(item), index: index++ }
          total = requireFinite(next(names), 'The total')
        },
        end: () => ({ result: total }),
      }
    },
  },
  {
    node_type: 'control.Count',
    title: 'Count',
    description: 'Counts the items of a stream. Items without a value do not count.',
    properties: [requiredProperty('item', 'any', 'The stream.', ITEM_BY_ITEM)],
    outputs: [valueOutput('count', 'int')],
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
    description: 'Gives the last item of a stream. An empty stream gives no output.',
    properties: [requiredProperty('item', 'any', 'The stream.', ITEM_BY_ITEM)],
    outputs: [valueOutput('item', 'any')],
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
