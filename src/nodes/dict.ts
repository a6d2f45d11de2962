// dict.*: reading, changing and taking apart of objects. None of them changes the object that it is given.
import { DEEPEST_VALUE } from '../engine/measure.ts'
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { conversion, option, output, required } from './define.ts'
import { budget, guardDepth, guardList, LONGEST_LIST, type Spend, shown, tooDeep } from './limits.ts'
import { follow, pathParts, pathSteps, somePath, withKey } from './values.ts'

type Dict = Record<string, unknown>

const dict = () => required('dict', 'dict[str,any]', 'The object.')

function isDict(value: unknown): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function setItem(list: readonly unknown[], step: string | number, rest: readonly (string | number)[], value: unknown) {
  const place = /^-?\d+$/.test(String(step)) ? Number(step) : Number.NaN
  const index = place < 0 ? list.length + place : place
  if (!(index >= 0 && index <= list.length)) {
    throw new NodeError(`A list of ${list.length} items has no place "${shown(String(step))}".`, 'bad_path')
  }
  guardList(index + 1)
  return list.toSpliced(index, 1, setAt(list[index], rest, value))
}

/** A copy with `value` at a path; objects and, for places, lists on the way are made where there are none. */
function setAt(target: unknown, [step, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value
  const isNothing = target === undefined || target === null
  if (Array.isArray(target) || (isNothing && typeof step === 'number')) return setItem(target ?? [], step, rest, value)
  if (!isNothing && !isDict(target)) {
    throw new NodeError(`There is a value where the path goes on at "${shown(String(step))}".`, 'bad_path')
  }
  if (typeof step === 'number') {
    throw new NodeError(
      `There is an object where the path says place ${step} of a list. A key has no brackets.`,
      'bad_path',
    )
  }
  const record = target ?? {}
  return withKey(record, step, setAt(Object.hasOwn(record, step) ? record[step] : undefined, rest, value))
}

/** How many keys one merging goes through, of both sides and on all levels: two of the largest objects. */
const MOST_MERGED = 2 * LONGEST_LIST

function merge(a: Dict, b: Dict, spend: Spend | null): Dict {
  const merged = new Map(Object.entries(a))
  const entries = Object.entries(b)
  spend?.(merged.size + entries.length)
  for (const [key, value] of entries) {
    const before = spend ? merged.get(key) : undefined
    merged.set(key, spend && isDict(before) && isDict(value) ? merge(before, value, spend) : value)
  }
  guardList(merged.size, 'The object would have', 'keys')
  return Object.fromEntries(merged)
}

function rename(dict: Dict, names: Readonly<Record<string, string>>): Dict {
  const renamed = new Map<string, unknown>()
  for (const [key, value] of Object.entries(dict)) {
    const name = Object.hasOwn(names, key) ? names[key]! : key
    if (renamed.has(name)) throw new NodeError(`Two values would have the key "${shown(name)}".`, 'duplicate_key')
    renamed.set(name, value)
  }
  return Object.fromEntries(renamed)
}

export const dictNodes: NodeType[] = [
  {
    node_type: 'dict.Get',
    title: 'Get value',
    description: 'Gives what lies at a path such as `user.names[0]`, or the default where there is nothing.',
    properties: [
      required('dict', 'any', 'The object or list.'),
      option(
        'path',
        'str',
        'Keys with dots between, places of lists in brackets: `[-1]` is the last. `["a.b"]` is a key.',
        {
          default: '',
        },
      ),
      option('default', 'any', 'What to give where there is nothing.'),
    ],
    cost: 0,
    outputs: [output('output', 'any')],
    converts: [conversion('dict', 'any', 'gives one of its values')],
    expressions: { path: pathSteps },
    run: ({ dict, path, default: otherwise }: { dict: unknown; path: string; default: unknown }) => ({
      output: follow(dict, pathParts(path)) ?? otherwise,
    }),
  },
  {
    node_type: 'dict.Set',
    title: 'Set value',
    description: `Gives a copy of an object with a value at a path, at most ${DEEPEST_VALUE} levels deep. Objects and, for \`[0]\`, lists on the way are made.`,
    properties: [
      dict(),
      required('path', 'str', 'Where to put it; in a list at most one place behind the last item.'),
      option('value', 'any', 'What to put there.'),
    ],
    outputs: [output('output', 'dict[str,any]')],
    expressions: { path: somePath },
    run({ dict, path, value }: { dict: Dict; path: string; value: unknown }) {
      const steps = somePath(path)
      if (steps.length > DEEPEST_VALUE) throw tooDeep()
      const made = setAt(dict, steps, value)
      guardDepth(made)
      return { output: made }
    },
  },
  {
    node_type: 'dict.Merge',
    title: 'Merge objects',
    description: 'Puts two objects together. Where both have a key the second one wins.',
    properties: [
      option('a', 'dict[str,any]', 'The first object.', { default: {} }),
      option('b', 'dict[str,any]', 'The second object.', { default: {} }),
      option('deep', 'bool', 'Merges objects inside of them as well.', { default: false }),
    ],
    outputs: [output('output', 'dict[str,any]')],
    run: ({ a, b, deep }: { a: Dict; b: Dict; deep: boolean }) => ({
      output: merge(a, b, deep ? budget(MOST_MERGED) : null),
    }),
  },
  {
    node_type: 'dict.Keys',
    title: 'Keys and values',
    description: 'Lists the keys of an object, and its values in the same order.',
    properties: [dict()],
    outputs: [output('keys', 'list[str]'), output('values', 'list[any]')],
    converts: ['list[str]', 'list'].map((to) => conversion('dict', to, 'lists its keys and its values')),
    run: ({ dict }: { dict: Dict }) => ({ keys: Object.keys(dict), values: Object.values(dict) }),
  },
  {
    node_type: 'dict.Select',
    title: 'Select keys',
    description: 'Keeps some keys of an object, or all but those. Keys that are not there count for nothing.',
    properties: [
      dict(),
      option('keys', 'list[str]', 'The keys; without any it keeps all.', { default: [] }),
      option('invert', 'bool', 'Leaves these keys out instead of keeping them.', { default: false }),
    ],
    outputs: [output('output', 'dict[str,any]')],
    run({ dict, keys, invert }: { dict: Dict; keys: string[]; invert: boolean }) {
      const chosen = new Set(keys)
      const isKept = (key: string) => chosen.size === 0 || chosen.has(key) !== invert
      return { output: Object.fromEntries(Object.entries(dict).filter(([key]) => isKept(key))) }
    },
  },
  {
    node_type: 'dict.Rename',
    title: 'Rename keys',
    description:
      'Gives keys of an object other names; the others stay as they are. Two values never get the same key; names of keys that are not there count for nothing.',
    properties: [dict(), required('names', 'dict[str,str]', 'Old name → new name.')],
    outputs: [output('output', 'dict[str,any]')],
    run: ({ dict, names }: { dict: Dict; names: Record<string, string> }) => ({ output: rename(dict, names) }),
  },
  {
    node_type: 'dict.FromLists',
    title: 'Object from lists',
    description: 'Makes an object out of a list of keys and a list of values.',
    properties: [required('keys', 'list[str]', 'The keys.'), required('values', 'list[any]', 'Their values.')],
    outputs: [output('output', 'dict[str,any]')],
    run({ keys, values }: { keys: string[]; values: unknown[] }) {
      if (keys.length !== values.length) {
        throw new NodeError(`There are ${keys.length} keys for ${values.length} values.`, 'bad_input')
      }
      return { output: Object.fromEntries(keys.map((key, index) => [key, values[index]])) }
    },
  },
]
