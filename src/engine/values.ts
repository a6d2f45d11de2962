// Whether a value is of a type, and how a value of one type becomes one of another on its way along an edge.
import { shortValue } from '../short.ts'
import { kindWords, typeLabel, typeWords } from './type-label.ts'
import { argument, listing, type TypeMetadata } from './types.ts'

/** Converts a value or throws `Mismatch`. */
export type Coerce = (value: unknown) => unknown

/**
 * A value that doesn't fit. The message says what was expected and what came: of a choice among few the beginning of the value
 * itself, else only its kind.
 */
export class Mismatch extends Error {
  readonly code: 'type_mismatch' | 'out_of_range'
  constructor(message: string, code: Mismatch['code'] = 'type_mismatch') {
    super(message)
    this.code = code
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Check = (value: unknown, type: TypeMetadata) => boolean

const media: Check = (value, type) => isRecord(value) && value.type === type.type

/** How each type is recognised. A type that isn't here has no rule of its own: everything is of it. */
const CHECKS: Readonly<Record<string, Check>> = {
  // Not looked into: inside of it, numbers are the business of those who read and write them.
  any: (value) => typeof value !== 'number' || Number.isFinite(value),
  str: (value) => typeof value === 'string',
  int: (value) => Number.isInteger(value),
  float: (value) => Number.isFinite(value),
  bool: (value) => typeof value === 'boolean',
  list: (value, type) => Array.isArray(value) && allConform(value, argument(type, 0)),
  dict: (value, type) => isRecord(value) && allConform(value, argument(type, 1)),
  union: (value, type) => type.type_args.length === 0 || type.type_args.some((member) => conforms(value, member)),
  enum: (value, type) =>
    type.values.length === 0
      ? typeof value === 'string' || typeof value === 'number'
      : type.values.includes(value as string | number),
  image: media,
  audio: media,
  video: media,
  document: media,
  dataframe: isRecord,
  model: isRecord,
  chunk: isRecord,
}

/** Whether a value is of a type, all the way down. */
export function conforms(value: unknown, type: TypeMetadata): boolean {
  if (value === null && type.optional) return true
  const check = CHECKS[type.type]
  return check === undefined || check(value, type)
}

/** So many values make it worth while to look up beforehand how they are recognised. */
const MANY = 64

/** The items of a list, or the values of a dict. */
export const itemsOf = (value: object): readonly unknown[] => (Array.isArray(value) ? value : Object.values(value))

/** Whether the items of large lists and dicts are of a type, as it was found in steps. Nobody changes a value that was given. */
const found = new WeakMap<object, Map<TypeMetadata, boolean>>()

/** From now on `conforms` takes it as known whether all items of a list or dict are of a type. */
export function rememberItems(container: object, type: TypeMetadata, fit: boolean): void {
  found.set(container, (found.get(container) ?? new Map()).set(type, fit))
}

/** Whether that was found for them already. */
export function knowsItems(container: object, type: TypeMetadata): boolean {
  return found.get(container)?.has(type) ?? false
}

function allConform(container: object, type: TypeMetadata): boolean {
  if (type.type === 'any') return true
  const items = itemsOf(container)
  if (items.length < MANY) return allFit(items, (item) => conforms(item, type))
  return found.get(container)?.get(type) ?? allFit(items, testOf(type))
}

/** The tests of types, as long as somebody uses them: that of a type with thousands of values takes milliseconds to make, and memory. */
const tests = new WeakMap<TypeMetadata, WeakRef<Test>>()

/** `conforms` for one type and many values: of millions of them it takes a tenth of the time. */
export function testOf(type: TypeMetadata): Test {
  const known = tests.get(type)?.deref()
  if (known) return known
  const test = newTestOf(type)
  tests.set(type, new WeakRef(test))
  return test
}

function newTestOf(type: TypeMetadata): Test {
  const { optional, type_args } = type
  const check = CHECKS[type.type]
  if (check === undefined) return () => true
  const own =
    containerTest(type) ??
    (type.type === 'union' && type_args.length > 0
      ? memberTest(type_args)
      : (listedTest([type]) ?? withType(check, type)))
  return optional ? (value) => value === null || own(value) : own
}

type Test = (value: unknown) => boolean

/** The test of lists and dicts, whose items are of one type; null for others. */
function containerTest(type: TypeMetadata): Test | null {
  if (type.type === 'list') {
    const fits = itemsTest(argument(type, 0))
    return (value) => Array.isArray(value) && fits(value)
  }
  if (type.type !== 'dict') return null
  const fits = itemsTest(argument(type, 1))
  return (value) => isRecord(value) && fits(Object.values(value))
}

function itemsTest(item: TypeMetadata): (items: readonly unknown[]) => boolean {
  if (item.type === 'any') return () => true
  const fits = testOf(item)
  return (items) => allFit(items, fits)
}

// By index: of millions of short lists an iterator takes more time than their items.
function allFit(values: readonly unknown[], fits: Test): boolean {
  const { length } = values
  for (let at = 0; at < length; at++) if (!fits(values[at])) return false
  return true
}

/** Checks that take the value alone are called as they are. */
function withType(check: Check, type: TypeMetadata): Test {
  return check.length === 1 ? (check as Test) : (value) => check(value, type)
}

function isListed({ type, values }: TypeMetadata): boolean {
  return type === 'enum' && values.length > 0
}

/** The test of several choices: looked up, however many values they list. Null where there are none. */
function listedTest(types: readonly TypeMetadata[]): Test | null {
  const listed = types.filter(isListed)
  if (listed.length === 0) return null
  const values = new Set<unknown>(listed.flatMap<unknown>((one) => (one.optional ? [null, ...one.values] : one.values)))
  return (value) => values.has(value)
}

/** The test of a union. Each different member counts once; those of lists, of media and of other objects look at nothing else. */
function memberTest(members: readonly TypeMetadata[]): Test {
  const isNullable = members.some(({ optional }) => optional)
  const unlisted = members.filter((one) => !isListed(one))
  const different = [...new Map(unlisted.map((one) => [JSON.stringify(one), one])).values()]
  const {
    list = [],
    files = [],
    dict = [],
    other = [],
  } = Object.groupBy(different, ({ type }) =>
    CHECKS[type] === media ? 'files' : type === 'list' || type === 'dict' ? type : 'other',
  )
  const listed = listedTest(members)
  const isOther = anyOf([...(listed ? [listed] : []), ...other.map(testOf)])
  const [isList, isDict] = [anyOf(list.map(testOf)), anyOf(dict.map(testOf))]
  const names = new Set<unknown>(files.map(({ type }) => type))
  return (value) => {
    if (isOther(value)) return true
    if (value === null) return isNullable
    if (Array.isArray(value)) return isList(value)
    return isRecord(value) && (names.has(value.type) || isDict(value))
  }
}

function anyOf(tests: readonly Test[]): Test {
  const { length } = tests
  return (value) => {
    for (let at = 0; at < length; at++) if (tests[at]!(value)) return true
    return false
  }
}

/** Like `conforms`, without looking into lists and dicts: cheap enough for every firing. */
export function conformsAtTop(value: unknown, type: TypeMetadata): boolean {
  if (type.type === 'list') return Array.isArray(value) || (value === null && type.optional)
  if (type.type === 'dict') return isRecord(value) || (value === null && type.optional)
  return conforms(value, type)
}

/** What a value is, in the words of the type shorthand. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'string') return 'str'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return String(value)
    return Number.isInteger(value) ? 'int' : 'float'
  }
  if (typeof value === 'object') {
    const type = (value as { type?: unknown }).type
    return typeof type === 'string' && Object.hasOwn(CHECKS, type) ? type : 'dict'
  }
  return typeof value
}

function chosen(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(shortValue(value))
  return typeof value === 'number' ? String(value) : kindWords(kindOf(value))
}

/** Checks a value against a type; one value fits where a list of it is expected. */
export function check(type: TypeMetadata): Coerce {
  return (value) => {
    if (conforms(value, type)) return value
    if (type.type === 'list' && !Array.isArray(value) && conforms(value, argument(type, 0))) return [value]
    if (type.type === 'enum') throw new Mismatch(`expected ${typeLabel(type)}, got ${chosen(value)}`)
    const kind = kindOf(value)
    const deep = kind === type.type && (kind === 'list' || kind === 'dict')
    throw new Mismatch(`expected ${typeWords(type)}, got ${kindWords(kind)}${deep ? ' with other values in it' : ''}`)
  }
}

const wrap: Coerce = (value) => [value]

/** Whether every value of `source` is one of `target`, so that nothing need be checked. */
function contains(target: TypeMetadata, source: TypeMetadata): boolean {
  if (target.type === 'any') return true
  if (source.optional && !target.optional) return false
  if (source.type === 'any') return false
  if (source.type === 'union')
    return source.type_args.length > 0 && source.type_args.every((member) => contains(target, member))
  if (target.type === 'union') return target.type_args.some((member) => contains(member, source))
  if (source.type === 'int' && target.type === 'float') return true
  if (source.type !== target.type) return false
  if (source.type === 'list') return contains(argument(target, 0), argument(source, 0))
  if (source.type === 'dict') return contains(argument(target, 1), argument(source, 1))
  if (source.type === 'enum') {
    return target.values.length === 0 || (source.values.length > 0 && source.values.every(listing(target)))
  }
  return true
}

/** What an edge from `source` to `target` does to a value: nothing (null), wrap it into a list, or check it. */
export function coercion(source: TypeMetadata, target: TypeMetadata): Coerce | null {
  if (contains(target, source)) return null
  if (target.type === 'list' && source.type !== 'union' && !source.optional && source.type !== 'any') {
    if (source.type !== 'list' && contains(argument(target, 0), source)) return wrap
  }
  return check(target)
}

export interface Bounds {
  min?: number
  max?: number
  values?: readonly (string | number)[]
}

function outOfRange(message: string): Mismatch {
  return new Mismatch(message, 'out_of_range')
}

/** Adds a property's limits to its coercion; null where there is nothing to do. */
export function bounded(inner: Coerce | null, bounds: Bounds): Coerce | null {
  const { min, max, values } = bounds
  if (min === undefined && max === undefined && values === undefined) return inner
  return (given) => {
    const value = inner ? inner(given) : given
    if (typeof value === 'number' && min !== undefined && value < min) throw outOfRange(`must be at least ${min}`)
    if (typeof value === 'number' && max !== undefined && value > max) throw outOfRange(`must be at most ${max}`)
    if (values !== undefined && value !== null && !values.includes(value as string | number)) {
      throw outOfRange(`must be one of ${values.join(', ')}, not ${chosen(value)}`)
    }
    return value
  }
}
