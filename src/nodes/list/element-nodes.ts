// list.*: make, change and split lists. No node changes the list that it is given. sort-filter-group-nodes.ts works by the values of items,
// transform-nodes.ts with two lists or several items at once, statistics-nodes.ts computes statistics.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
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
  if (step === 0) throw new NodeError('The step must not be 0, because the range would never end.', 'bad_input')
  const count = Math.max(0, Math.ceil((stop - start) / step))
  guardListLength(count, 'The range would have', 'numbers')
  return Array.from({ length: count }, (_, index) => start + index * step)
}

function insert(items: List, index: number, value: unknown): List {
  const place = index < 0 ? items.length + index : index
  if (place < 0 || place > items.length) {
    throw new NodeError(`A list of ${items.length} items has no position ${index}.`, 'out_of_range')
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
    description: 'Gives one item of a list. Negative positions count from the end.',
    properties: [
      listProperty(),
      optionalProperty('index', 'int', 'The position; 0 is the first item, −1 the last.', { default: 0 }),
      optionalProperty('default', 'any', 'The result if there is no such item. Without it the node fails.'),
      optionalProperty('or_null', 'bool', 'Gives null instead of failing if there is no such item and no default.', {
        default: false,
      }),
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
    description:
      'Gives the items from one position up to, but not including, another. Negative positions count from the end.',
    properties: [
      listProperty(),
      optionalProperty('start', 'int', 'The first position.', { default: 0 }),
      optionalProperty('end', 'int?', 'The position after the last item. Without it: the end of the list.'),
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
    description: 'Counts from start up to, but not including, stop. At most a million numbers.',
    properties: [
      optionalProperty('start', 'float', 'The first number.', { default: 0 }),
      requiredProperty('stop', 'float', 'The number before which the range ends.'),
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
    description: 'Reverses the order of a list.',
    properties: [listProperty()],
    cost: 2,
    outputs: [resultOutput()],
    run: ({ list }: { list: List }) => ({ output: list.toReversed() }),
  },
  {
    node_type: 'list.Flatten',
    title: 'Flatten list',
    description: 'Replaces nested lists with their items.',
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
    description: 'Adds one value to the end of a list. A list is added as one item. At most a million items.',
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
    description: 'Inserts one value into a list, before the item at a position. At most a million items.',
    properties: [
      listProperty(),
      optionalProperty('index', 'int', 'The position; 0 is before the first item, −1 before the last.', { default: 0 }),
      optionalProperty('value', 'any', 'The value to insert.'),
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
    description: 'Tells whether a value is among the items, and the position of the first match (−1: none).',
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
    description: 'Takes the value at a path from each item, or the default if there is no value.',
    properties: [
      listProperty(),
      requiredProperty('path', 'str', 'The path inside each item.'),
      optionalProperty('default', 'any', 'The result if there is no value.'),
    ],
    outputs: [resultOutput()],
    expressions: { path: parsePathTexts },
    run({ list, path, default: otherwise }: { list: List; path: string; default: unknown }) {
      const parts = parsePathTexts(path)
      return { output: list.map((item) => readAtPath(item, parts) ?? otherwise) }
    },
  },
]
