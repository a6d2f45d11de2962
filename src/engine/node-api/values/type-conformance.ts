// Checks whether a value is of a type.
import { isRecord } from '../../../shared/record.ts'
import { getTypeArgument, type TypeMetadata } from './type-metadata.ts'

type TypePredicate = (value: unknown, type: TypeMetadata) => boolean

const isMediaOfType: TypePredicate = (value, type) => isRecord(value) && value.type === type.type

/** The predicate of each type. A type without a predicate accepts every value. */
const TYPE_PREDICATES: Readonly<Record<string, TypePredicate>> = {
  // The contents are not checked: the nodes that read and write them deal with their numbers.
  any: (value) => typeof value !== 'number' || Number.isFinite(value),
  str: (value) => typeof value === 'string',
  int: (value) => Number.isInteger(value),
  float: (value) => Number.isFinite(value),
  bool: (value) => typeof value === 'boolean',
  list: (value, type) => Array.isArray(value) && doAllConform(value, getTypeArgument(type, 0)),
  dict: (value, type) => isRecord(value) && doAllConform(value, getTypeArgument(type, 1)),
  union: (value, type) => type.type_args.length === 0 || type.type_args.some((member) => conforms(value, member)),
  enum: (value, type) =>
    type.values.length === 0
      ? typeof value === 'string' || typeof value === 'number'
      : type.values.includes(value as string | number),
  image: isMediaOfType,
  audio: isMediaOfType,
  video: isMediaOfType,
  document: isMediaOfType,
  dataframe: isRecord,
  model: isRecord,
  chunk: isRecord,
}

/** Whether a value is of a type, recursively. */
export function conforms(value: unknown, type: TypeMetadata): boolean {
  if (value === null && type.optional) return true
  const check = TYPE_PREDICATES[type.type]
  return check === undefined || check(value, type)
}

/** From this number of values on, looking up the predicate beforehand is worthwhile. */
const MANY_ITEMS = 64

/** The items of a list, or the values of a dict. */
export const listItems = (value: object): readonly unknown[] => (Array.isArray(value) ? value : Object.values(value))

/** Cached results for the items of large lists and dicts, found in steps. Values are never changed once they were passed on. */
const conformanceByContainer = new WeakMap<object, Map<TypeMetadata, boolean>>()

/** Afterwards `conforms` uses this result for all items of a list or dict. */
export function rememberConformance(container: object, type: TypeMetadata, fit: boolean): void {
  conformanceByContainer.set(container, (conformanceByContainer.get(container) ?? new Map()).set(type, fit))
}

/** Whether the result for its items is cached. */
export function hasKnownConformance(container: object, type: TypeMetadata): boolean {
  return conformanceByContainer.get(container)?.has(type) ?? false
}

function doAllConform(container: object, type: TypeMetadata): boolean {
  if (type.type === 'any') return true
  const items = listItems(container)
  if (items.length < MANY_ITEMS) return doAllPass(items, (item) => conforms(item, type))
  return conformanceByContainer.get(container)?.get(type) ?? doAllPass(items, getTypeTest(type))
}

/** The tests of types, while they are in use: the test of a type with thousands of values takes milliseconds to make, and memory. */
const testsByType = new WeakMap<TypeMetadata, WeakRef<TypeTest>>()

/** `conforms` for one type and many values: for millions of values it takes a tenth of the time. */
export function getTypeTest(type: TypeMetadata): TypeTest {
  const known = testsByType.get(type)?.deref()
  if (known) return known
  const test = createTypeTest(type)
  testsByType.set(type, new WeakRef(test))
  return test
}

function createTypeTest(type: TypeMetadata): TypeTest {
  const { optional, type_args } = type
  const check = TYPE_PREDICATES[type.type]
  if (check === undefined) return () => true
  const own =
    createContainerTest(type) ??
    (type.type === 'union' && type_args.length > 0
      ? createMemberTest(type_args)
      : (createListedTest([type]) ?? bindType(check, type)))
  return optional ? (value) => value === null || own(value) : own
}

type TypeTest = (value: unknown) => boolean

/** The test of a list or dict type; null for other types. */
function createContainerTest(type: TypeMetadata): TypeTest | null {
  if (type.type === 'list') {
    const fits = createItemsTest(getTypeArgument(type, 0))
    return (value) => Array.isArray(value) && fits(value)
  }
  if (type.type !== 'dict') return null
  const fits = createItemsTest(getTypeArgument(type, 1))
  return (value) => isRecord(value) && fits(Object.values(value))
}

function createItemsTest(item: TypeMetadata): (items: readonly unknown[]) => boolean {
  if (item.type === 'any') return () => true
  const fits = getTypeTest(item)
  return (items) => doAllPass(items, fits)
}

// Iterates by index: with millions of short lists an iterator costs more than their items.
function doAllPass(values: readonly unknown[], fits: TypeTest): boolean {
  const { length } = values
  for (let at = 0; at < length; at++) if (!fits(values[at])) return false
  return true
}

/** Predicates that use only the value are called directly. */
function bindType(check: TypePredicate, type: TypeMetadata): TypeTest {
  return check.length === 1 ? (check as TypeTest) : (value) => check(value, type)
}

function isListedEnum({ type, values }: TypeMetadata): boolean {
  return type === 'enum' && values.length > 0
}

/** The test of several enums by lookup, for any number of values. Null if there are no listed values. */
function createListedTest(types: readonly TypeMetadata[]): TypeTest | null {
  const listed = types.filter(isListedEnum)
  if (listed.length === 0) return null
  const values = new Set<unknown>(listed.flatMap<unknown>((one) => (one.optional ? [null, ...one.values] : one.values)))
  return (value) => values.has(value)
}

/** The test of a union. Duplicate members are dropped, and members for lists, media and other objects are tested only on such values. */
function createMemberTest(members: readonly TypeMetadata[]): TypeTest {
  const isNullable = members.some(({ optional }) => optional)
  const unlisted = members.filter((one) => !isListedEnum(one))
  const different = [...new Map(unlisted.map((one) => [JSON.stringify(one), one])).values()]
  const {
    list = [],
    files = [],
    dict = [],
    other = [],
  } = Object.groupBy(different, ({ type }) =>
    TYPE_PREDICATES[type] === isMediaOfType ? 'files' : type === 'list' || type === 'dict' ? type : 'other',
  )
  const listed = createListedTest(members)
  const isOther = createAnyTest([...(listed ? [listed] : []), ...other.map(getTypeTest)])
  const [isList, isDict] = [createAnyTest(list.map(getTypeTest)), createAnyTest(dict.map(getTypeTest))]
  const names = new Set<unknown>(files.map(({ type }) => type))
  return (value) => {
    if (isOther(value)) return true
    if (value === null) return isNullable
    if (Array.isArray(value)) return isList(value)
    return isRecord(value) && (names.has(value.type) || isDict(value))
  }
}

function createAnyTest(tests: readonly TypeTest[]): TypeTest {
  const { length } = tests
  return (value) => {
    for (let at = 0; at < length; at++) if (tests[at]!(value)) return true
    return false
  }
}

/** Like `conforms`, but without the contents of lists and dicts: cheap enough for every firing. */
export function conformsShallowly(value: unknown, type: TypeMetadata): boolean {
  if (type.type === 'list') return Array.isArray(value) || (value === null && type.optional)
  if (type.type === 'dict') return isRecord(value) || (value === null && type.optional)
  return conforms(value, type)
}

/** The kind of a value, as in the type shorthand. */
export function getValueKind(value: unknown): string {
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
    return typeof type === 'string' && Object.hasOwn(TYPE_PREDICATES, type) ? type : 'dict'
  }
  return typeof value
}
