// dict.*: read, change and split objects. No node changes the object that it is given.

import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { MAX_VALUE_DEPTH } from '../engine/node-api/values/measure.ts'
import { optionalProperty, requiredProperty, typeConversion, valueOutput } from './shared/node-type-builders.ts'
import {
  abbreviate,
  createStepBudget,
  guardDepth,
  guardListLength,
  LONGEST_LIST,
  type StepBudget,
  tooDeepError,
} from './shared/value-limits.ts'
import { copyWithKey, parseNonEmptyPath, parsePath, parsePathTexts, readAtPath } from './shared/value-operations.ts'

type Dict = Record<string, unknown>

const dictProperty = () => requiredProperty('dict', 'dict[str,any]', 'The object.')

function isDict(value: unknown): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function setItem(list: readonly unknown[], step: string | number, rest: readonly (string | number)[], value: unknown) {
  const place = /^-?\d+$/.test(String(step)) ? Number(step) : Number.NaN
  const index = place < 0 ? list.length + place : place
  if (!(index >= 0 && index <= list.length)) {
    throw new NodeError(`A list of ${list.length} items has no position "${abbreviate(String(step))}".`, 'bad_path')
  }
  guardListLength(index + 1)
  return list.toSpliced(index, 1, setAtPath(list[index], rest, value))
}

/** A copy with `value` at a path. Missing objects, and lists for numeric steps, are created on the way. */
function setAtPath(target: unknown, [step, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value
  const isNothing = target === undefined || target === null
  if (Array.isArray(target) || (isNothing && typeof step === 'number')) return setItem(target ?? [], step, rest, value)
  if (!isNothing && !isDict(target)) {
    throw new NodeError(
      `The path continues with "${abbreviate(String(step))}", but the value before it is neither an object nor a list.`,
      'bad_path',
    )
  }
  if (typeof step === 'number') {
    throw new NodeError(
      `The path has position ${step} of a list, but there is an object. Write keys without brackets.`,
      'bad_path',
    )
  }
  const record = target ?? {}
  return copyWithKey(record, step, setAtPath(Object.hasOwn(record, step) ? record[step] : undefined, rest, value))
}

/** In keys of both sides and on all levels of a merge: two of the largest objects. */
const MOST_MERGED = 2 * LONGEST_LIST

function mergeDicts(a: Dict, b: Dict, spend: StepBudget | null): Dict {
  const merged = new Map(Object.entries(a))
  const entries = Object.entries(b)
  spend?.(merged.size + entries.length)
  for (const [key, value] of entries) {
    const before = spend ? merged.get(key) : undefined
    merged.set(key, spend && isDict(before) && isDict(value) ? mergeDicts(before, value, spend) : value)
  }
  guardListLength(merged.size, 'The object would have', 'keys')
  return Object.fromEntries(merged)
}

function renameKeys(dict: Dict, names: Readonly<Record<string, string>>): Dict {
  const renamed = new Map<string, unknown>()
  for (const [key, value] of Object.entries(dict)) {
    const name = Object.hasOwn(names, key) ? names[key]! : key
    if (renamed.has(name)) throw new NodeError(`Two values would have the key "${abbreviate(name)}".`, 'duplicate_key')
    renamed.set(name, value)
  }
  return Object.fromEntries(renamed)
}

export const dictNodes: NodeType[] = [
  {
    node_type: 'dict.Get',
    title: 'Get value',
    description: 'Gives the value at a path such as `user.names[0]`, or the default if there is no value.',
    properties: [
      requiredProperty('dict', 'any', 'The object or list.'),
      optionalProperty(
        'path',
        'str',
        'Keys separated by dots, and positions of lists in brackets: `[-1]` is the last item. `["a.b"]` is a key with a dot.',
        {
          default: '',
        },
      ),
      optionalProperty('default', 'any', 'The result if there is no value.'),
    ],
    cost: 0,
    outputs: [valueOutput('output', 'any')],
    converts: [typeConversion('dict', 'any', 'gives one of its values')],
    expressions: { path: parsePath },
    run: ({ dict, path, default: otherwise }: { dict: unknown; path: string; default: unknown }) => ({
      output: readAtPath(dict, parsePathTexts(path)) ?? otherwise,
    }),
  },
  {
    node_type: 'dict.Set',
    title: 'Set value',
    description: `Gives a copy of an object with a value at a path, at most ${MAX_VALUE_DEPTH} levels deep. Missing objects and, for \`[0]\`, lists on the way are created.`,
    properties: [
      dictProperty(),
      requiredProperty(
        'path',
        'str',
        'The path of the value. In a list it may be at most one position behind the last item.',
      ),
      optionalProperty('value', 'any', 'The value to set.'),
    ],
    outputs: [valueOutput('output', 'dict[str,any]')],
    expressions: { path: parseNonEmptyPath },
    run({ dict, path, value }: { dict: Dict; path: string; value: unknown }) {
      const steps = parseNonEmptyPath(path)
      if (steps.length > MAX_VALUE_DEPTH) throw tooDeepError()
      const made = setAtPath(dict, steps, value)
      guardDepth(made)
      return { output: made }
    },
  },
  {
    node_type: 'dict.Merge',
    title: 'Merge objects',
    description: 'Merges two objects. If both have a key, the value of the second object is used.',
    properties: [
      optionalProperty('a', 'dict[str,any]', 'The first object.', { default: {} }),
      optionalProperty('b', 'dict[str,any]', 'The second object.', { default: {} }),
      optionalProperty('deep', 'bool', 'Merges nested objects as well.', { default: false }),
    ],
    outputs: [valueOutput('output', 'dict[str,any]')],
    run: ({ a, b, deep }: { a: Dict; b: Dict; deep: boolean }) => ({
      output: mergeDicts(a, b, deep ? createStepBudget(MOST_MERGED) : null),
    }),
  },
  {
    node_type: 'dict.Keys',
    title: 'Keys and values',
    description: 'Lists the keys of an object, and its values in the same order.',
    properties: [dictProperty()],
    outputs: [valueOutput('keys', 'list[str]'), valueOutput('values', 'list[any]')],
    converts: ['list[str]', 'list'].map((to) => typeConversion('dict', to, 'lists its keys and its values')),
    run: ({ dict }: { dict: Dict }) => ({ keys: Object.keys(dict), values: Object.values(dict) }),
  },
  {
    node_type: 'dict.Select',
    title: 'Select keys',
    description: 'Keeps some keys of an object, or all other keys. Unknown keys are ignored.',
    properties: [
      dictProperty(),
      optionalProperty('keys', 'list[str]', 'The keys. Without keys all are kept.', { default: [] }),
      optionalProperty('invert', 'bool', 'Removes these keys instead of keeping them.', { default: false }),
    ],
    outputs: [valueOutput('output', 'dict[str,any]')],
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
      'Renames keys of an object; other keys stay unchanged. The node fails if two values would get the same key. Unknown keys are ignored.',
    properties: [dictProperty(), requiredProperty('names', 'dict[str,str]', 'Old name → new name.')],
    outputs: [valueOutput('output', 'dict[str,any]')],
    run: ({ dict, names }: { dict: Dict; names: Record<string, string> }) => ({ output: renameKeys(dict, names) }),
  },
  {
    node_type: 'dict.FromLists',
    title: 'Object from lists',
    description: 'Makes an object from a list of keys and a list of values.',
    properties: [
      requiredProperty('keys', 'list[str]', 'The keys.'),
      requiredProperty('values', 'list[any]', 'Their values.'),
    ],
    outputs: [valueOutput('output', 'dict[str,any]')],
    run({ keys, values }: { keys: string[]; values: unknown[] }) {
      if (keys.length !== values.length) {
        throw new NodeError(`There are ${keys.length} keys for ${values.length} values.`, 'bad_input')
      }
      return { output: Object.fromEntries(keys.map((key, index) => [key, values[index]])) }
    },
  },
]
