// dict.*: flattens, unflattens and changes objects by the paths of their values, and calculates with values.

import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { MAX_VALUE_DEPTH } from '../engine/node-api/values/measure.ts'
import { calculateEach } from './list/transform-nodes.ts'
import { costOfFormula, costOfPaths } from './shared/firing-costs.ts'
import { parseFormula } from './shared/formula/parser.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import {
  abbreviate,
  createStepBudget,
  guardDepth,
  guardListLength,
  guardTotalText,
  LONGEST_LIST,
  type StepBudget,
  tooDeepError,
} from './shared/value-limits.ts'
import { parseNonEmptyPath } from './shared/value-operations.ts'

type Dict = Record<string, unknown>

const dictProperty = () => requiredProperty('dict', 'dict[str,any]', 'The object.')
const resultOutput = () => valueOutput('output', 'dict[str,any]')

function isNonEmpty(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/** The value at the end of each path. Empty lists and objects count as values. */
function flatten(whole: Dict, lists: boolean): Dict {
  guardDepth(whole)
  const flat = new Map<string, unknown>()
  const spend = createStepBudget()
  let length = 0
  function add(path: string, value: unknown): void {
    if (isNonEmpty(value) && (lists || !Array.isArray(value))) return walk(path, value)
    length += path.length
    guardTotalText(length)
    if (flat.has(path)) throw new NodeError(`Two values would have the path "${abbreviate(path)}".`, 'duplicate_key')
    flat.set(path, value)
    guardListLength(flat.size, 'The object would have', 'keys')
  }
  function walk(path: string, inside: object): void {
    const entries = Object.entries(inside)
    spend(entries.length)
    const prefix = path === '' ? '' : `${path}.`
    for (const [key, value] of entries) add(Array.isArray(inside) ? `${path}[${key}]` : prefix + key, value)
  }
  walk('', whole)
  return Object.fromEntries(flat)
}

/** A value under construction: list positions are numbers, object keys are texts. */
type Tree = Map<string | number, Tree | Leaf>

class Leaf {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** Splits `a.b[0]` into a, b and 0. */
function splitPath(path: string): (string | number)[] {
  if (!path.includes('.') && !path.includes('[')) return [path]
  const found = Array.from(path.matchAll(/\[(\d+)\]|([^.[]|\[(?!\d+\]))+/g), ([all, place]) =>
    place === undefined ? all : Number(place),
  )
  if (found.length > MAX_VALUE_DEPTH) throw tooDeepError()
  return found.length > 0 ? found : ['']
}

interface PathBudgets {
  steps: StepBudget
  inner: StepBudget
}

function insertAtPath(tree: Tree, path: string, value: unknown, spend: PathBudgets): void {
  const all = splitPath(path)
  spend.steps(all.length)
  let at = tree
  for (const step of all.slice(0, -1)) {
    const found = at.get(step)
    if (!found) spend.inner(1)
    const next = found ?? new Map()
    if (next instanceof Leaf)
      throw new NodeError(`The path "${abbreviate(path)}" goes through another value.`, 'bad_path')
    at.set(step, next)
    at = next
  }
  const last = all.at(-1)!
  if (at.has(last)) throw new NodeError(`Two values would lie at the path "${abbreviate(path)}".`, 'bad_path')
  at.set(last, new Leaf(value))
}

function buildValue(tree: Tree | Leaf, path: string): unknown {
  if (tree instanceof Leaf) return tree.value
  const isList = typeof tree.keys().next().value === 'number'
  const made: [string | number, unknown][] = []
  for (const [key, inner] of tree) {
    const below = isList ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`
    if (isList ? typeof key === 'string' || key >= tree.size : typeof key === 'number') {
      const text = `The path "${abbreviate(below)}" does not fit the other paths. A list needs all positions from 0 without gaps.`
      throw new NodeError(text, 'bad_path')
    }
    made.push([key, buildValue(inner, below)])
  }
  if (!isList) return Object.fromEntries(made)
  return made.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value)
}

function unflatten(flat: Dict): Dict {
  const tree: Tree = new Map()
  const spend = { steps: createStepBudget(), inner: createStepBudget(LONGEST_LIST) }
  for (const [path, value] of Object.entries(flat)) insertAtPath(tree, path, value, spend)
  if (typeof tree.keys().next().value === 'number')
    throw new NodeError('A path must begin with a key, not with a position of a list.', 'bad_path')
  const made = buildValue(tree, '') as Dict
  guardDepth(made)
  return made
}

/** A copy without the value at a path. If there is none, the copy is complete. */
function removeAtPath(target: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined || typeof target !== 'object' || target === null) return target
  if (Array.isArray(target)) {
    const place = /^-?\d+$/.test(part) ? Number(part) + (part.startsWith('-') ? target.length : 0) : -1
    if (place < 0 || place >= target.length) return target
    return rest.length > 0 ? target.with(place, removeAtPath(target[place], rest)) : target.toSpliced(place, 1)
  }
  if (!Object.hasOwn(target, part)) return target
  const entries = Object.entries(target)
  if (rest.length === 0) return Object.fromEntries(entries.filter(([key]) => key !== part))
  return Object.fromEntries(entries.map(([key, value]) => [key, key === part ? removeAtPath(value, rest) : value]))
}

function mapValues(values: Record<string, number>, formula: string): Dict {
  const results = calculateEach(Object.values(values), formula)
  return Object.fromEntries(Object.keys(values).map((key, at) => [key, results[at]]))
}

export const dictPathsNodes: NodeType[] = [
  {
    node_type: 'dict.Flatten',
    title: 'Flatten object',
    description:
      'Gives an object of one level. Its keys are the paths of all values, such as `user.names[0]`. Empty lists and objects are kept as values.',
    properties: [dictProperty(), optionalProperty('lists', 'bool', 'Flattens lists as well.', { default: true })],
    cost: costOfPaths,
    outputs: [resultOutput()],
    run: ({ dict, lists }: { dict: Dict; lists: boolean }) => ({ output: flatten(dict, lists) }),
  },
  {
    node_type: 'dict.Unflatten',
    title: 'Unflatten object',
    description: 'Builds an object from paths such as `user.names[0]` and their values.',
    properties: [dictProperty()],
    cost: 300,
    outputs: [resultOutput()],
    run: ({ dict }: { dict: Dict }) => ({ output: unflatten(dict) }),
  },
  {
    node_type: 'dict.Remove',
    title: 'Remove value',
    description: 'Gives a copy of an object without the value at a path. In a list, later items move up.',
    properties: [dictProperty(), requiredProperty('path', 'str', 'The path, such as `user.names[0]`.')],
    outputs: [resultOutput()],
    expressions: { path: parseNonEmptyPath },
    run({ dict, path }: { dict: Dict; path: string }) {
      const parts = parseNonEmptyPath(path).map(String)
      return { output: parts.length > MAX_VALUE_DEPTH ? dict : removeAtPath(dict, parts) }
    },
  },
  {
    node_type: 'dict.MapValues',
    title: 'Calculate with values',
    description: 'Computes a formula for each number in an object. `x` is the number, `i` its position from 0.',
    properties: [
      requiredProperty('dict', 'dict[str,float]', 'The object.'),
      requiredProperty('formula', 'str', 'For instance `x * 1.19`.'),
    ],
    cost: ({ dict, formula }) => costOfFormula(dict, formula),
    expressions: { formula: parseFormula },
    outputs: [valueOutput('output', 'dict[str,float]')],
    run: ({ dict, formula }: { dict: Record<string, number>; formula: string }) => ({
      output: mapValues(dict, formula),
    }),
  },
]
