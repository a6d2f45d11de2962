// list.*: making and taking apart of lists. None of them changes the list that it is given. What looks at the values of
// items is in list-order.ts, what takes two lists or several items at once in list-parts.ts, statistics in statistics.ts.
import { NodeError, type NodeType } from '../../engine/node-api/node-type.ts'
import { costOfChunks } from '../shared/firing-costs.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from '../shared/node-type-builders.ts'
import { createStepBudget, guardListLength } from '../shared/value-limits.ts'
import { areEqual, parsePathTexts, readAtPath } from '../shared/value-operations.ts'

type List = unknown[]

const listProperty = () => requiredProperty('list', 'list[any]', 'The list.')
const resultOutput = () => valueOutput('output', 'list[any]')

type GetInputs = { list: List; index: number; default: unknown; or_null: boolean }

function flatten(items: List, depth: number): List {
  const flat: List = []
  const spend = createStepBudget()
  function add(list: List, levels: number): void {
    spend(list.length)
    for (const item of list) {
      if (levels > 0 && Array.isArray(item)) add(item, levels - 1)
      else flat.push(item)
    }
    guardListLength(flat.length)
  }
  add(items, depth)
  return flat
}

function createRange(start: number, stop: number, step: number): number[] {
  if (step === 0) throw new NodeError('The step is 0: the range would never end.', 'bad_input')
  const count = Math.max(0, Math.ceil((stop - start) / step))
  guardListLength(count, 'The range would have', 'numbers')
  return Array.from({ length: count }, (_, index) => start + index * step)
}

function insert(items: List, index: number, value: unknown): List {
  const place = index < 0 ? items.length + index : index
  if (place < 0 || place > items.length) {
    throw new NodeError(`A list of ${items.length} items has no place ${index}.`, 'out_of_range')
  }
  guardListLength(items.length + 1)
  return items.toSpliced(place, 0, value)
}

export const listElementNodes: NodeType[] = [
  {
    node_type: 'list.Length',
    title: 'Length of list',
    description: 'Counts the items of a list.',
    properties: [listProperty()],
    cost: 0,
    outputs: [valueOutput('output', 'int')],
    run: ({ list }: { list: List }) => ({ output: list.length }),
  },
  {
    node_type: 'list.Get',
    title: 'Get item',
    description: 'Gives one item of a list. Negative places count from the end.',
    properties: [
      listProperty(),
      optionalProperty('index', 'int', 'The place; 0 is the first item, −1 the last.', { default: 0 }),
      optionalProperty('default', 'any', 'What to give where there is no such item; without it that is an error.'),
      optionalProperty(
        'or_null',
        'bool',
        'Gives null where there is no such item and no default, instead of an error.',
        {
          default: false,
        },
      ),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'any')],
    converts: [typeConversion('list', 'item', 'gives one of the items')],
    run({ list, index, default: otherwise, or_null }: GetInputs) {
      const item = list.at(index)
      if (item === undefined && otherwise === null && !or_null) {
        throw new NodeError(`A list of ${list.length} items has no item ${index}.`, 'out_of_range')
      }
      return { output: item === undefined ? otherwise : item }
    },
  },
  {
    node_type: 'list.Slice',
    title: 'Part of list',
    description: 'Gives the items from one place up to, not including, another. Negative places count from the end.',
    properties: [
      listProperty(),
      optionalProperty('start', 'int', 'The first place.', { default: 0 }),
      optionalProperty('end', 'int?', 'The place after the last; without it the end of the list.'),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ list, start, end }: { list: List; start: number; end: number | null }) => ({
      output: list.slice(start, end ?? list.length),
    }),
  },
  {
    node_type: 'list.Range',
    title: 'Range',
    description: 'Counts from a start up to, not including, a stop. At most a million numbers.',
    properties: [
      optionalProperty('start', 'float', 'The first number.', { default: 0 }),
      requiredProperty('stop', 'float', 'Where to end.'),
      optionalProperty('step', 'float', 'The distance between two numbers.', { default: 1 }),
    ],
    cost: ({ start, stop, step }) => (Math.abs(Number(stop) - Number(start)) / Math.abs(Number(step) || 1)) * 20,
    outputs: [valueOutput('output', 'list[float]')],
    run: ({ start, stop, step }: { start: number; stop: number; step: number }) => ({
      output: createRange(start, stop, step),
    }),
  },
  {
    node_type: 'list.Reverse',
    title: 'Reverse list',
    description: 'Turns the order of a list round.',
    properties: [listProperty()],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ list }: { list: List }) => ({ output: list.toReversed() }),
  },
  {
    node_type: 'list.Flatten',
    title: 'Flatten list',
    description: 'Puts the items of lists inside the list in their place.',
    properties: [
      listProperty(),
      optionalProperty('depth', 'int', 'How many levels.', { default: 1, min: 1, max: 100 }),
    ],
    cost: 10,
    outputs: [resultOutput()],
    run: ({ list, depth }: { list: List; depth: number }) => ({ output: flatten(list, depth) }),
  },
  {
    node_type: 'list.Concat',
    title: 'Join lists',
    description: 'Puts one list behind another. At most a million items together.',
    properties: [
      optionalProperty('a', 'list[any]', 'The first list.', { default: [] }),
      optionalProperty('b', 'list[any]', 'The second list.', { default: [] }),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run({ a, b }: { a: List; b: List }) {
      guardListLength(a.length + b.length)
      return { output: a.concat(b) }
    },
  },
  {
    node_type: 'list.Append',
    title: 'Append to list',
    description: 'Adds one value to the end of a list, also one that is a list itself. At most a million items.',
    properties: [
      optionalProperty('list', 'list[any]', 'The list.', { default: [] }),
      optionalProperty('value', 'any', 'The value to add.'),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run({ list, value }: { list: List; value: unknown }) {
      guardListLength(list.length + 1)
      return { output: [...list, value] }
    },
  },
  {
    node_type: 'list.Insert',
    title: 'Insert into list',
    description: 'Puts one value into a list, before the item at a place. At most a million items.',
    properties: [
      listProperty(),
      optionalProperty('index', 'int', 'The place; 0 is before the first item, −1 before the last.', { default: 0 }),
      optionalProperty('value', 'any', 'The value to put in.'),
    ],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ list, index, value }: { list: List; index: number; value: unknown }) => ({
      output: insert(list, index, value),
    }),
  },
  {
    node_type: 'list.Chunk',
    title: 'Split into chunks',
    description: 'Cuts a list into lists of a given length; the last one may be shorter.',
    properties: [listProperty(), optionalProperty('size', 'int', 'Items per chunk.', { default: 10, min: 1 })],
    cost: ({ list, size }) => costOfChunks(list, size),
    outputs: [valueOutput('output', 'list[list[any]]')],
    run: ({ list, size }: { list: List; size: number }) => ({
      output: Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size)),
    }),
  },
  {
    node_type: 'list.Contains',
    title: 'List contains',
    description: 'Says whether a value is among the items, and at which place first (−1: nowhere).',
    properties: [listProperty(), optionalProperty('value', 'any', 'The value to look for.')],
    cost: 10,
    outputs: [valueOutput('output', 'bool'), valueOutput('index', 'int')],
    run({ list, value }: { list: List; value: unknown }) {
      const spend = createStepBudget()
      const index = list.findIndex((item) => areEqual(item, value, spend))
      return { output: index >= 0, index }
    },
  },
  {
    node_type: 'list.Pluck',
    title: 'Take from each item',
    description: 'Takes what lies at a path out of each item; where there is nothing, the default.',
    properties: [
      listProperty(),
      requiredProperty('path', 'str', 'The path inside each item.'),
      optionalProperty('default', 'any', 'What to take where there is nothing.'),
    ],
    outputs: [resultOutput()],
    expressions: { path: parsePathTexts },
    run({ list, path, default: otherwise }: { list: List; path: string; default: unknown }) {
      const parts = parsePathTexts(path)
      return { output: list.map((item) => readAtPath(item, parts) ?? otherwise) }
    },
  },
]
