// list.*: items ordered, chosen and gathered by their values, or by what lies at a path in each of them.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { kindOf } from '../engine/values.ts'
import { OPERATOR_TYPE, OPERATORS, type Operator } from './compare.ts'
import { option, output, required } from './define.ts'
import { meeting } from './keys.ts'
import { budget, MOST_GATHERED_TEXT } from './limits.ts'
import { inOrder, ranksOf } from './ranks.ts'
import { follow, haveOrder, pathParts } from './values.ts'

type List = unknown[]

const list = () => required('list', 'list[any]', 'The list.')
const result = () => output('output', 'list[any]')
const by = () => option('by', 'str', 'The path to look at inside each item; empty is the item itself.', { default: '' })

function groups(items: List, path: string): Map<unknown, { key: unknown; items: List }> {
  const parts = pathParts(path)
  const found = new Map<unknown, { key: unknown; items: List }>()
  const spend = budget(MOST_GATHERED_TEXT)
  for (const item of items) {
    const key = follow(item, parts) ?? null
    const name = meeting(key, spend)
    const group = found.get(name)
    if (group) group.items.push(item)
    else found.set(name, { key, items: [item] })
  }
  return found
}

/** What is missing comes last, in either direction. Throws NodeError where the rest has no order. */
function sort(items: List, parts: readonly string[], sign: number): List {
  const keyed = items.map((item) => ({ item, key: follow(item, parts) ?? null }))
  const first = keyed.findIndex(({ key }) => key !== null)
  const kind = typeof keyed[first]?.key
  const odd = keyed.findIndex(({ key }) => key !== null && (typeof key !== kind || typeof key === 'object'))
  if (odd >= 0) {
    const other = odd === first ? '' : `, and item ${first} ${kindOf(keyed[first]!.key)}`
    const text = `The list can't be ordered: item ${odd} is ${kindOf(keyed[odd]!.key)}${other}.`
    throw new NodeError(`${text} Items need to be all numbers or all texts.`, 'no_order')
  }
  const ranks = ranksOf(
    keyed.map(({ key }) => key),
    sign,
  )
  return Array.from(inOrder(items.length, [ranks]), (place) => items[place])
}

function filter(items: List, parts: readonly string[], op: Operator, value: unknown): List {
  const isOrder = op !== '==' && op !== '!='
  const spend = budget()
  return items.filter((item, index) => {
    const found = follow(item, parts) ?? null
    if (!isOrder || haveOrder(found, value)) return OPERATORS[op](found, value, spend)
    if (found === null) return false
    const text = `Item ${index} is ${kindOf(found)}, which is neither less nor greater than ${kindOf(value)}.`
    throw new NodeError(`${text} Compare numbers with a number, texts with a text.`, 'no_order')
  })
}

export const listOrderNodes: NodeType[] = [
  {
    node_type: 'list.Sort',
    title: 'Sort list',
    description:
      'Orders numbers by size and texts by their characters. Items without a value come last; equal ones keep their order.',
    properties: [list(), by(), option('descending', 'bool', 'The greatest first.', { default: false })],
    expressions: { by: pathParts },
    cost: 400,
    outputs: [result()],
    run({ list, by, descending }: { list: List; by: string; descending: boolean }) {
      return { output: sort(list, pathParts(by), descending ? -1 : 1) }
    },
  },
  {
    node_type: 'list.Filter',
    title: 'Filter list',
    description:
      'Keeps the items whose value at a path compares as asked with another value. Items without one are neither less nor greater.',
    properties: [
      list(),
      by(),
      option('op', OPERATOR_TYPE, 'How to compare.', { default: '==' }),
      option('value', 'any', 'What to compare with.'),
    ],
    expressions: { by: pathParts },
    cost: 10,
    outputs: [result()],
    run({ list, by, op, value }: { list: List; by: string; op: Operator; value: unknown }) {
      return { output: filter(list, pathParts(by), op, value) }
    },
  },
  {
    node_type: 'list.Unique',
    title: 'Unique items',
    description: 'Keeps the first of all items that are equal.',
    properties: [list(), by()],
    expressions: { by: pathParts },
    cost: 400,
    outputs: [result()],
    run: ({ list, by }: { list: List; by: string }) => ({
      output: [...groups(list, by).values()].map((group) => group.items[0]),
    }),
  },
  {
    node_type: 'list.GroupBy',
    title: 'Group items',
    description:
      'Gathers items that have the same value at a path: groups of {key, count, items}, in order of first sight.',
    properties: [list(), by()],
    expressions: { by: pathParts },
    outputs: [output('output', 'list[dict[str,any]]')],
    run: ({ list, by }: { list: List; by: string }) => ({
      output: [...groups(list, by).values()].map(({ key, items }) => ({ key, count: items.length, items })),
    }),
  },
]
