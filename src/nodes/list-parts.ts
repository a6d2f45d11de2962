// list.*: two lists beside each other, windows of one, and what its items come to one after the other.
import { type Inputs, NodeError, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { kindOf } from '../engine/values.ts'
import { MOST_KEYS } from '../most-keys.ts'
import { costOfFormula, costOfWindows } from './costs.ts'
import { option, output, required } from './define.ts'
import { formulaOf, guardEvaluations } from './formula.ts'
import { guardKey, Keys } from './keys.ts'
import { shown } from './limits.ts'
import { guardCells } from './rows.ts'
import { finite, follow, pathParts, toText } from './values.ts'

type List = unknown[]

const list = () => required('list', 'list[any]', 'The list.')
const numbers = () => required('list', 'list[float]', 'The numbers.')
const pair = () => [required('a', 'list[any]', 'The first list.'), required('b', 'list[any]', 'The second list.')]
const by = () => option('by', 'str', 'The path to look at inside each item; empty is the item itself.', { default: '' })

function compare(a: List, b: List, by: string) {
  const parts = pathParts(by)
  const keys = new Keys(1)
  const numbers = (items: List) => items.map((item) => keys.add(() => follow(item, parts) ?? null))
  const [ofA, ofB] = [numbers(a), numbers(b)]
  const [inA, inB] = [new Set(ofA), new Set(ofB)]
  // The first of all items that are equal, in one list.
  function pick(items: List, numbers: readonly number[], isWanted: (number: number) => boolean): List {
    const seen = new Set<number>()
    return items.filter((_, at) => {
      const number = numbers[at]!
      return isWanted(number) && !seen.has(number) && seen.add(number)
    })
  }
  return {
    both: pick(a, ofA, (number) => inB.has(number)),
    only_a: pick(a, ofA, (number) => !inB.has(number)),
    only_b: pick(b, ofB, (number) => !inA.has(number)),
  }
}

function tooManyKeys(): NodeError {
  const most = MOST_KEYS.toLocaleString('en')
  return new NodeError(`The object would have more than ${most} keys. Index parts of the list.`, 'too_large')
}

type Duplicates = 'last' | 'first' | 'fail'

function index(items: List, by: string, value: string, duplicates: Duplicates): Record<string, unknown> {
  const [keyParts, valueParts] = [pathParts(by), pathParts(value)]
  const made = new Map<string, unknown>()
  for (const [place, item] of items.entries()) {
    const found = follow(item, keyParts) ?? null
    if (found === null || typeof found === 'object') {
      const text = `Item ${place} has ${kindOf(found)} at "${shown(by)}", where a key is needed: a text or number.`
      throw new NodeError(text, 'bad_input')
    }
    const key = toText(found)
    guardKey(key)
    if (made.has(key)) {
      if (duplicates === 'first') continue
      if (duplicates === 'fail') throw new NodeError(`Two items have the key "${shown(key)}".`, 'duplicate_key')
    }
    made.set(key, follow(item, valueParts) ?? null)
    if (made.size > MOST_KEYS) throw tooManyKeys()
  }
  return Object.fromEntries(made)
}

type Running = 'sum' | 'product' | 'min' | 'max'

const RUNNING: Readonly<Record<Running, (before: number, next: number) => number>> = {
  sum: (before, next) => before + next,
  product: (before, next) => before * next,
  min: Math.min,
  max: Math.max,
}

function accumulate(items: number[], how: Running): number[] {
  let before: number | null = null
  return items.map((item) => {
    before = before === null ? item : finite(RUNNING[how](before, item), `The running ${how}`)
    return before
  })
}

/** What a formula makes of each number, which is `x` in it; `i` is its place. */
export function calculate(numbers: readonly number[], formula: string): number[] {
  const evaluate = formulaOf(formula)
  guardEvaluations(evaluate, numbers.length)
  return numbers.map((x, i) => finite(evaluate({ x, i }), `The result of the formula for number ${i}`))
}

function windows(items: List, size: number, step: number): List[] {
  const count = items.length < size ? 0 : Math.floor((items.length - size) / step) + 1
  guardCells(count, size)
  return Array.from({ length: count }, (_, at) => items.slice(at * step, at * step + size))
}

function zip(a: List, b: List, longest: boolean, fill: unknown): [unknown, unknown][] {
  const length = longest ? Math.max(a.length, b.length) : Math.min(a.length, b.length)
  const at = (items: List, index: number) => (index < items.length ? items[index] : fill)
  return Array.from({ length }, (_, index) => [at(a, index), at(b, index)])
}

export const listPartsNodes: NodeType[] = [
  {
    node_type: 'list.Zip',
    title: 'Pair up lists',
    description: 'Makes pairs of the items at the same places of two lists, as far as the shorter one goes.',
    properties: [
      ...pair(),
      option('longest', 'bool', 'Goes as far as the longer one.', { default: false }),
      option('fill', 'any', 'What then stands for the items that the shorter one lacks.'),
    ],
    cost: 10,
    outputs: [output('output', 'list[list[any]]')],
    run: ({ a, b, longest, fill }: { a: List; b: List; longest: boolean; fill: unknown }) => ({
      output: zip(a, b, longest, fill),
    }),
  },
  {
    node_type: 'list.Window',
    title: 'Sliding windows',
    description: 'Lists all stretches of a given length, each some places after the one before. The last is whole too.',
    properties: [
      list(),
      option('size', 'int', 'Items per window.', { default: 2, min: 1 }),
      option('step', 'int', 'Places from one window to the next.', { default: 1, min: 1 }),
    ],
    cost: ({ list, size }) => costOfWindows(list, size),
    outputs: [output('output', 'list[list[any]]')],
    run: ({ list, size, step }: { list: List; size: number; step: number }) => ({ output: windows(list, size, step) }),
  },
  {
    node_type: 'list.Compare',
    title: 'Compare lists',
    description: 'Says which items are in both of two lists and which only in one, each once and in order.',
    properties: [...pair(), by()],
    expressions: { by: pathParts },
    cost: 200,
    outputs: ['both', 'only_a', 'only_b'].map((name) => output(name, 'list[any]')),
    run: ({ a, b, by }: { a: List; b: List; by: string }) => compare(a, b, by),
  },
  {
    node_type: 'list.IndexBy',
    title: 'Index by key',
    description: 'Makes an object of a list, with what lies at a path in each item as its key.',
    properties: [
      list(),
      required('by', 'str', 'The path of the key inside each item.'),
      option('value', 'str', 'The path of the value; empty is the item itself.', { default: '' }),
      option('duplicates', oneOf('last', 'first', 'fail'), 'Which of several items with one key counts.', {
        default: 'last',
      }),
    ],
    expressions: { by: pathParts, value: pathParts },
    outputs: [output('output', 'dict[str,any]')],
    run(inputs: Inputs) {
      const { list, by, value, duplicates } = inputs as {
        list: List
        by: string
        value: string
        duplicates: Duplicates
      }
      return { output: index(list, by, value, duplicates) }
    },
  },
  {
    node_type: 'list.Calculate',
    title: 'Calculate with each',
    description: 'Gives what a formula makes of each number of a list: `x` is the number, `i` its place from 0.',
    properties: [numbers(), required('formula', 'str', 'For instance `x * 2 + 1`.')],
    cost: ({ list, formula }) => costOfFormula(list, formula),
    expressions: { formula: formulaOf },
    outputs: [output('output', 'list[float]')],
    run: ({ list, formula }: { list: number[]; formula: string }) => ({ output: calculate(list, formula) }),
  },
  {
    node_type: 'list.Accumulate',
    title: 'Running totals',
    description: 'Gives what the numbers up to each place come to: their sum, product, least or greatest.',
    properties: [
      numbers(),
      option('how', oneOf(...(Object.keys(RUNNING) as Running[])), 'What they come to.', { default: 'sum' }),
    ],
    cost: 10,
    outputs: [output('output', 'list[float]')],
    run: ({ list, how }: { list: number[]; how: Running }) => ({ output: accumulate(list, how) }),
  },
]
