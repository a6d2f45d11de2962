// list.*: sort, filter and group items by their values, or by the value at a path in each item.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import {
  COMPARISON_OPERATOR_TYPE,
  COMPARISON_OPERATORS,
  type ComparisonOperator,
} from '../comparison-and-logic-nodes.ts'
import { toEqualityKey } from '../shared/equality-keys.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { rankValues, sortByRanks } from '../shared/ranking.ts'
import { createStepBudget, MOST_TOTAL_TEXT } from '../shared/value-limits.ts'
import { areComparable, parsePathTexts, readAtPath } from '../shared/value-operations.ts'

type List = unknown[]

const listProperty = () => requiredProperty('list', 'list[any]', 'The list.')
const resultOutput = () => valueOutput('output', 'list[any]')
const pathProperty = () =>
  optionalProperty('by', 'str', 'The path of the value inside each item. Empty: the item itself.', { default: '' })

function groupItems(items: List, path: string): Map<unknown, { key: unknown; items: List }> {
  const parts = parsePathTexts(path)
  const found = new Map<unknown, { key: unknown; items: List }>()
  const spend = createStepBudget(MOST_TOTAL_TEXT)
  for (const item of items) {
    const key = readAtPath(item, parts) ?? null
    const name = toEqualityKey(key, spend)
    const group = found.get(name)
    if (group) group.items.push(item)
    else found.set(name, { key, items: [item] })
  }
  return found
}

/** Missing values come last in both directions. Throws NodeError if other values cannot be ordered. */
function sortItems(items: List, parts: readonly string[], sign: number): List {
  const keyed = items.map((item) => ({ item, key: readAtPath(item, parts) ?? null }))
  const first = keyed.findIndex(({ key }) => key !== null)
  const kind = typeof keyed[first]?.key
  const odd = keyed.findIndex(({ key }) => key !== null && (typeof key !== kind || typeof key === 'object'))
  if (odd >= 0) {
    const other = odd === first ? '' : `, and item ${first} ${getValueKind(keyed[first]!.key)}`
    const text = `The list can't be ordered: item ${odd} is ${getValueKind(keyed[odd]!.key)}${other}.`
    throw new NodeError(`${text} All items must be numbers, or all must be texts.`, 'no_order')
  }
  const ranks = rankValues(
    keyed.map(({ key }) => key),
    sign,
  )
  return Array.from(sortByRanks(items.length, [ranks]), (place) => items[place])
}

function filterItems(items: List, parts: readonly string[], op: ComparisonOperator, value: unknown): List {
  const isOrder = op !== '==' && op !== '!='
  const spend = createStepBudget()
  return items.filter((item, index) => {
    const found = readAtPath(item, parts) ?? null
    if (!isOrder || areComparable(found, value)) return COMPARISON_OPERATORS[op](found, value, spend)
    if (found === null) return false
    const text = `Item ${index} is ${getValueKind(found)}, which is neither less nor greater than ${getValueKind(value)}.`
    throw new NodeError(`${text} Compare numbers with a number, texts with a text.`, 'no_order')
  })
}

export const listSortFilterGroupNodes: NodeType[] = [
  {
    node_type: 'list.Sort',
    title: 'Sort list',
    description:
      'Orders numbers by size and texts by their characters. Items without a value come last. Equal items keep their order.',
    properties: [
      listProperty(),
      pathProperty(),
      optionalProperty('descending', 'bool', 'Whether the greatest comes first.', { default: false }),
    ],
    expressions: { by: parsePathTexts },
    cost: 400,
    outputs: [resultOutput()],
    run({ list, by, descending }: { list: List; by: string; descending: boolean }) {
      return { output: sortItems(list, parsePathTexts(by), descending ? -1 : 1) }
    },
  },
  {
    node_type: 'list.Filter',
    title: 'Filter list',
    description:
      'Keeps the items whose value at a path compares with another value as set. Missing values are neither less nor greater.',
    properties: [
      listProperty(),
      pathProperty(),
      optionalProperty('op', COMPARISON_OPERATOR_TYPE, 'How to compare.', { default: '==' }),
      optionalProperty('value', 'any', 'The value to compare with.'),
    ],
    expressions: { by: parsePathTexts },
    cost: 10,
    outputs: [resultOutput()],
    run({ list, by, op, value }: { list: List; by: string; op: ComparisonOperator; value: unknown }) {
      return { output: filterItems(list, parsePathTexts(by), op, value) }
    },
  },
  {
    node_type: 'list.Unique',
    title: 'Unique items',
    description: 'Keeps the first of all items that are equal.',
    properties: [listProperty(), pathProperty()],
    expressions: { by: parsePathTexts },
    cost: 400,
    outputs: [resultOutput()],
    run: ({ list, by }: { list: List; by: string }) => ({
      output: [...groupItems(list, by).values()].map((group) => group.items[0]),
    }),
  },
  {
    node_type: 'list.GroupBy',
    title: 'Group items',
    description:
      'Gathers items that have the same value at a path: groups of {key, count, items}, in order of first appearance.',
    properties: [listProperty(), pathProperty()],
    expressions: { by: parsePathTexts },
    outputs: [valueOutput('output', 'list[dict[str,any]]')],
    run: ({ list, by }: { list: List; by: string }) => ({
      output: [...groupItems(list, by).values()].map(({ key, items }) => ({ key, count: items.length, items })),
    }),
  },
]
