// dict.*: objects by the paths of what is in them, taken apart and put together again, and calculated with.
import { DEEPEST_VALUE } from '../engine/measure.ts'
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { costOfFormula, costOfPaths } from './costs.ts'
import { option, output, required } from './define.ts'
import { formulaOf } from './formula.ts'
import { budget, guardDepth, guardGathered, guardList, LONGEST_LIST, type Spend, shown, tooDeep } from './limits.ts'
import { calculate } from './list-parts.ts'
import { somePath } from './values.ts'

type Dict = Record<string, unknown>

const dict = () => required('dict', 'dict[str,any]', 'The object.')
const result = () => output('output', 'dict[str,any]')

function isFull(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/** What lies at the end of each path. Empty lists and objects are ends too. */
function flatten(whole: Dict, lists: boolean): Dict {
  guardDepth(whole)
  const flat = new Map<string, unknown>()
  const spend = budget()
  let length = 0
  function add(path: string, value: unknown): void {
    if (isFull(value) && (lists || !Array.isArray(value))) return walk(path, value)
    length += path.length
    guardGathered(length)
    if (flat.has(path)) throw new NodeError(`Two values would have the path "${shown(path)}".`, 'duplicate_key')
    flat.set(path, value)
    guardList(flat.size, 'The object would have', 'keys')
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

/** What is put together: places of lists are numbers, keys of objects texts. */
type Tree = Map<string | number, Tree | Leaf>

class Leaf {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** `a.b[0]` as a, b and 0. */
function steps(path: string): (string | number)[] {
  if (!path.includes('.') && !path.includes('[')) return [path]
  const found = Array.from(path.matchAll(/\[(\d+)\]|([^.[]|\[(?!\d+\]))+/g), ([all, place]) =>
    place === undefined ? all : Number(place),
  )
  if (found.length > DEEPEST_VALUE) throw tooDeep()
  return found.length > 0 ? found : ['']
}

interface Spending {
  steps: Spend
  inner: Spend
}

function plant(tree: Tree, path: string, value: unknown, spend: Spending): void {
  const all = steps(path)
  spend.steps(all.length)
  let at = tree
  for (const step of all.slice(0, -1)) {
    const found = at.get(step)
    if (!found) spend.inner(1)
    const next = found ?? new Map()
    if (next instanceof Leaf) throw new NodeError(`A value is in the way of the path "${shown(path)}".`, 'bad_path')
    at.set(step, next)
    at = next
  }
  const last = all.at(-1)!
  if (at.has(last)) throw new NodeError(`Two values would lie at the path "${shown(path)}".`, 'bad_path')
  at.set(last, new Leaf(value))
}

function grown(tree: Tree | Leaf, path: string): unknown {
  if (tree instanceof Leaf) return tree.value
  const isList = typeof tree.keys().next().value === 'number'
  const made: [string | number, unknown][] = []
  for (const [key, inner] of tree) {
    const below = isList ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`
    if (isList ? typeof key === 'string' || key >= tree.size : typeof key === 'number') {
      const text = `The path "${shown(below)}" does not fit the others: a list has all places from 0.`
      throw new NodeError(text, 'bad_path')
    }
    made.push([key, grown(inner, below)])
  }
  if (!isList) return Object.fromEntries(made)
  return made.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value)
}

function unflatten(flat: Dict): Dict {
  const tree: Tree = new Map()
  const spend = { steps: budget(), inner: budget(LONGEST_LIST) }
  for (const [path, value] of Object.entries(flat)) plant(tree, path, value, spend)
  if (typeof tree.keys().next().value === 'number')
    throw new NodeError('A path begins with a place of a list.', 'bad_path')
  const made = grown(tree, '') as Dict
  guardDepth(made)
  return made
}

/** A copy without what lies at a path; where there is nothing, all of it. */
function remove(target: unknown, [part, ...rest]: readonly string[]): unknown {
  if (part === undefined || typeof target !== 'object' || target === null) return target
  if (Array.isArray(target)) {
    const place = /^-?\d+$/.test(part) ? Number(part) + (part.startsWith('-') ? target.length : 0) : -1
    if (place < 0 || place >= target.length) return target
    return rest.length > 0 ? target.with(place, remove(target[place], rest)) : target.toSpliced(place, 1)
  }
  if (!Object.hasOwn(target, part)) return target
  const entries = Object.entries(target)
  if (rest.length === 0) return Object.fromEntries(entries.filter(([key]) => key !== part))
  return Object.fromEntries(entries.map(([key, value]) => [key, key === part ? remove(value, rest) : value]))
}

function mapValues(values: Record<string, number>, formula: string): Dict {
  const results = calculate(Object.values(values), formula)
  return Object.fromEntries(Object.keys(values).map((key, at) => [key, results[at]]))
}

export const dictPathsNodes: NodeType[] = [
  {
    node_type: 'dict.Flatten',
    title: 'Flatten object',
    description:
      'Gives an object of one level, whose keys are the paths of all values, such as `user.names[0]`. Empty lists and objects stay.',
    properties: [dict(), option('lists', 'bool', 'Goes into lists as well.', { default: true })],
    cost: costOfPaths,
    outputs: [result()],
    run: ({ dict, lists }: { dict: Dict; lists: boolean }) => ({ output: flatten(dict, lists) }),
  },
  {
    node_type: 'dict.Unflatten',
    title: 'Unflatten object',
    description: 'Puts an object together out of paths such as `user.names[0]` and their values.',
    properties: [dict()],
    cost: 300,
    outputs: [result()],
    run: ({ dict }: { dict: Dict }) => ({ output: unflatten(dict) }),
  },
  {
    node_type: 'dict.Remove',
    title: 'Remove value',
    description: 'Gives a copy of an object without what lies at a path. Items of lists behind it move up.',
    properties: [dict(), required('path', 'str', 'The path, such as `user.names[0]`.')],
    outputs: [result()],
    expressions: { path: somePath },
    run({ dict, path }: { dict: Dict; path: string }) {
      const parts = somePath(path).map(String)
      return { output: parts.length > DEEPEST_VALUE ? dict : remove(dict, parts) }
    },
  },
  {
    node_type: 'dict.MapValues',
    title: 'Calculate with values',
    description: 'Gives what a formula makes of each number in an object: `x` is the number, `i` its place from 0.',
    properties: [
      required('dict', 'dict[str,float]', 'The object.'),
      required('formula', 'str', 'For instance `x * 1.19`.'),
    ],
    cost: ({ dict, formula }) => costOfFormula(dict, formula),
    expressions: { formula: formulaOf },
    outputs: [output('output', 'dict[str,float]')],
    run: ({ dict, formula }: { dict: Record<string, number>; formula: string }) => ({
      output: mapValues(dict, formula),
    }),
  },
]
