// list.*: combine two lists, and compute windows, indexes, formulas and running totals of one.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { MAX_OBJECT_KEYS } from '../../shared/value-limits.ts'
import { guardKeyLength, KeyIndex } from '../shared/equality-keys.ts'
import { costOfFormula, costOfWindows } from '../shared/firing-costs.ts'
import { guardEvaluations, parseFormula } from '../shared/formula/parser.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { guardCells } from '../shared/table-rows.ts'
import { abbreviate } from '../shared/value-limits.ts'
import { parsePathTexts, readAtPath, requireFinite, toText } from '../shared/value-operations.ts'

type List = unknown[]

const listProperty = () => requiredProperty('list', 'list[any]', 'The list.')
const numbersProperty = () => requiredProperty('list', 'list[float]', 'The numbers.')
const pairProperties = () => [
  requiredProperty('a', 'list[any]', 'The first list.'),
  requiredProperty('b', 'list[any]', 'The second list.'),
]
const pathProperty = () =>
  optionalProperty('by', 'str', 'The path of the value inside each item. Empty: the item itself.', { default: '' })

function compareLists(a: List, b: List, by: string) {
  const parts = parsePathTexts(by)
  const keys = new KeyIndex(1)
  const numbers = (items: List) => items.map((item) => keys.add(() => readAtPath(item, parts) ?? null))
  const [ofA, ofB] = [numbers(a), numbers(b)]
  const [inA, inB] = [new Set(ofA), new Set(ofB)]
  // The first of all equal items in one list.
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
  const most = MAX_OBJECT_KEYS.toLocaleString('en')
  return new NodeError(`The object would have more than ${most} keys. Split the list first.`, 'too_large')
}

type Duplicates = 'last' | 'first' | 'fail'

function indexByKey(items: List, by: string, value: string, duplicates: Duplicates): Record<string, unknown> {
  const [keyParts, valueParts] = [parsePathTexts(by), parsePathTexts(value)]
  const made = new Map<string, unknown>()
  for (const [place, item] of items.entries()) {
    const found = readAtPath(item, keyParts) ?? null
    if (found === null || typeof found === 'object') {
      const text = `Item ${place} has ${getValueKind(found)} at "${abbreviate(by)}". A key must be a text or a number.`
      throw new NodeError(text, 'bad_input')
    }
    const key = toText(found)
    guardKeyLength(key)
    if (made.has(key)) {
      if (duplicates === 'first') continue
      if (duplicates === 'fail') throw new NodeError(`Two items have the key "${abbreviate(key)}".`, 'duplicate_key')
    }
    made.set(key, readAtPath(item, valueParts) ?? null)
    if (made.size > MAX_OBJECT_KEYS) throw tooManyKeys()
  }
  return Object.fromEntries(made)
}

type RunningTotal = 'sum' | 'product' | 'min' | 'max'

const RUNNING_TOTALS: Readonly<Record<RunningTotal, (before: number, next: number) => number>> = {
  sum: (before, next) => before + next,
  product: (before, next) => before * next,
  min: Math.min,
  max: Math.max,
}

function accumulate(items: number[], how: RunningTotal): number[] {
  let before: number | null = null
  return items.map((item) => {
    before = before === null ? item : requireFinite(RUNNING_TOTALS[how](before, item), `The running ${how}`)
    return before
  })
}

/** The results of a formula for each number. `x` is the number, `i` its position. */
export function calculateEach(numbers: readonly number[], formula: string): number[] {
  const evaluate = parseFormula(formula)
  guardEvaluations(evaluate, numbers.length)
  return numbers.map((x, i) => requireFinite(evaluate({ x, i }), `The result of the formula for number ${i}`))
}

function slidingWindows(items: List, size: number, step: number): List[] {
  const count = items.length < size ? 0 : Math.floor((items.length - size) / step) + 1
  guardCells(count, size)
  return Array.from({ length: count }, (_, at) => items.slice(at * step, at * step + size))
}

function zip(a: List, b: List, longest: boolean, fill: unknown): [unknown, unknown][] {
  const length = longest ? Math.max(a.length, b.length) : Math.min(a.length, b.length)
  const at = (items: List, index: number) => (index < items.length ? items[index] : fill)
  return Array.from({ length }, (_, index) => [at(a, index), at(b, index)])
}

export const listTransformNodes: NodeType[] = [
  {
    node_type: 'list.Zip',
    title: 'Pair up lists',
    description: 'Makes pairs of the items at the same positions of two lists, up to the end of the shorter list.',
    properties: [
      ...pairProperties(),
      optionalProperty('longest', 'bool', 'Continues to the end of the longer list.', { default: false }),
      optionalProperty('fill', 'any', 'The value for the items that the shorter list lacks.'),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'list[list[any]]')],
    run: ({ a, b, longest, fill }: { a: List; b: List; longest: boolean; fill: unknown }) => ({
      output: zip(a, b, longest, fill),
    }),
  },
  {
    node_type: 'list.Window',
    title: 'Sliding windows',
    description:
      'Lists all windows of a given length, each some positions after the one before. Incomplete windows at the end are left out.',
    properties: [
      listProperty(),
      optionalProperty('size', 'int', 'Items per window.', { default: 2, min: 1 }),
      optionalProperty('step', 'int', 'Positions from one window to the next.', { default: 1, min: 1 }),
    ],
    cost: ({ list, size }) => costOfWindows(list, size),
    outputs: [valueOutput('output', 'list[list[any]]')],
    run: ({ list, size, step }: { list: List; size: number; step: number }) => ({
      output: slidingWindows(list, size, step),
    }),
  },
  {
    node_type: 'list.Compare',
    title: 'Compare lists',
    description: 'Lists the items that are in both lists and those that are in only one, each once and in order.',
    properties: [...pairProperties(), pathProperty()],
    expressions: { by: parsePathTexts },
    cost: 200,
    outputs: ['both', 'only_a', 'only_b'].map((name) => valueOutput(name, 'list[any]')),
    run: ({ a, b, by }: { a: List; b: List; by: string }) => compareLists(a, b, by),
  },
  {
    node_type: 'list.IndexBy',
    title: 'Index by key',
    description: 'Makes an object from a list. The value at a path in each item is its key.',
    properties: [
      listProperty(),
      requiredProperty('by', 'str', 'The path of the key inside each item.'),
      optionalProperty('value', 'str', 'The path of the value. Empty: the item itself.', { default: '' }),
      optionalProperty(
        'duplicates',
        createEnumType('last', 'first', 'fail'),
        'Which of several items with the same key is used.',
        {
          default: 'last',
        },
      ),
    ],
    expressions: { by: parsePathTexts, value: parsePathTexts },
    outputs: [valueOutput('output', 'dict[str,any]')],
    run(inputs: InputValues) {
      const { list, by, value, duplicates } = inputs as {
        list: List
        by: string
        value: string
        duplicates: Duplicates
      }
      return { output: indexByKey(list, by, value, duplicates) }
    },
  },
  {
    node_type: 'list.Calculate',
    title: 'Calculate with each',
    description: 'Computes a formula for each number of a list. `x` is the number, `i` its position from 0.',
    properties: [numbersProperty(), requiredProperty('formula', 'str', 'For instance `x * 2 + 1`.')],
    cost: ({ list, formula }) => costOfFormula(list, formula),
    expressions: { formula: parseFormula },
    outputs: [valueOutput('output', 'list[float]')],
    run: ({ list, formula }: { list: number[]; formula: string }) => ({ output: calculateEach(list, formula) }),
  },
  {
    node_type: 'list.Accumulate',
    title: 'Running totals',
    description: 'Gives the running total of the numbers up to each position: their sum, product, minimum or maximum.',
    properties: [
      numbersProperty(),
      optionalProperty(
        'how',
        createEnumType(...(Object.keys(RUNNING_TOTALS) as RunningTotal[])),
        'The kind of total.',
        { default: 'sum' },
      ),
    ],
    cost: 10,
    outputs: [valueOutput('output', 'list[float]')],
    run: ({ list, how }: { list: number[]; how: RunningTotal }) => ({ output: accumulate(list, how) }),
  },
]
