// Type metadata of properties and outputs, its shorthand, and the rules of assignability. type-conformance.ts checks values against types.

export interface TypeMetadata {
  /** any, str, int, float, bool, list, dict, union, enum, image, audio, video, document, dataframe, model, chunk … */
  type: string
  /** True if null is a value of the type. */
  optional: boolean
  /** The values of an enum; otherwise empty. */
  values: readonly (string | number)[]
  /** list: [item] · dict: [key, value] · union: the members · else empty. */
  type_args: readonly TypeMetadata[]
  type_name: string | null
}

export const ANY_TYPE: TypeMetadata = Object.freeze({
  type: 'any',
  optional: false,
  values: Object.freeze([]),
  type_args: Object.freeze([]),
  type_name: null,
})

export const TYPE_NAMES: ReadonlySet<string> = new Set(
  'any str int float bool list dict union enum image audio video document dataframe model chunk'.split(' '),
)

/** Whether the engine knows this type. */
export function isTypeName(name: string): boolean {
  return TYPE_NAMES.has(name)
}

const TYPE_NAME_PATTERN = /^[a-z][a-z0-9_]*/

interface Cursor {
  text: string
  at: number
}

function takeSymbol(cursor: Cursor, symbol: string): boolean {
  if (cursor.text[cursor.at] !== symbol) return false
  cursor.at++
  return true
}

function parseArguments(cursor: Cursor): TypeMetadata[] {
  if (!takeSymbol(cursor, '[')) return []
  const args: TypeMetadata[] = []
  do args.push(parseTypeAt(cursor))
  while (takeSymbol(cursor, ','))
  if (!takeSymbol(cursor, ']')) throw new Error(`Type "${cursor.text}" lacks a closing bracket`)
  return args
}

function parseTypeAt(cursor: Cursor): TypeMetadata {
  const name = TYPE_NAME_PATTERN.exec(cursor.text.slice(cursor.at))?.[0]
  if (!name) throw new Error(`Type "${cursor.text}" has no name at position ${cursor.at}`)
  cursor.at += name.length
  const type_args = parseArguments(cursor)
  return { type: name, optional: takeSymbol(cursor, '?'), values: [], type_args, type_name: null }
}

const typeByShorthand = new Map<string, TypeMetadata>()

/** Parses a shorthand: `str`, `list[str]`, `dict[str,any]`, `union[int,str]`; a trailing `?` makes it optional. */
export function parseType(shorthand: string): TypeMetadata {
  const known = typeByShorthand.get(shorthand)
  if (known) return known
  const cursor = { text: shorthand.replaceAll(' ', ''), at: 0 }
  const type = parseTypeAt(cursor)
  if (cursor.at !== cursor.text.length) throw new Error(`Type "${shorthand}" has extra characters at its end`)
  typeByShorthand.set(shorthand, type)
  return type
}

export function createEnumType(...values: (string | number)[]): TypeMetadata {
  return { type: 'enum', optional: false, values, type_args: [], type_name: null }
}

/** Limits of the parts of a declared type, and of an enum's values and their characters: comparing two types must stay cheap. */
const MAX_TYPE_PARTS = 16
const MAX_ENUM_VALUES = 256
const MAX_ENUM_VALUE_LENGTH = 2_000

function isEnumAcceptable(values: unknown): values is unknown[] {
  if (!Array.isArray(values) || values.length > MAX_ENUM_VALUES) return false
  return values.every((one) => typeof one !== 'string' || one.length <= MAX_ENUM_VALUE_LENGTH)
}

function readTypePart(value: unknown, budget: { left: number }): TypeMetadata {
  if (typeof value !== 'object' || value === null || --budget.left < 0) return ANY_TYPE
  const given = value as Partial<Record<keyof TypeMetadata, unknown>>
  if (typeof given.type !== 'string' || given.type === '') return ANY_TYPE
  const listed = isEnumAcceptable(given.values) ? given.values : []
  return {
    type: given.type,
    optional: given.optional === true,
    values: listed.filter((one) => typeof one === 'string' || typeof one === 'number'),
    type_args: Array.isArray(given.type_args)
      ? given.type_args.slice(0, MAX_TYPE_PARTS).map((one) => readTypePart(one, budget))
      : [],
    type_name: typeof given.type_name === 'string' ? given.type_name : null,
  }
}

/**
 * Reads type metadata of a client. Missing fields get neutral values; invalid types, and parts beyond the 16th, become any. An enum with
 * more than 256 values, or a value of more than 2,000 characters, lists none.
 */
export function readTypeMetadata(value: unknown): TypeMetadata {
  return readTypePart(value, { left: MAX_TYPE_PARTS })
}

/** The full shorthand of a type. */
export function formatType(type: TypeMetadata): string {
  const args = type.type_args.length > 0 ? `[${type.type_args.map(formatType).join(', ')}]` : ''
  const values = type.type === 'enum' && type.values.length > 0 ? `(${type.values.join(' | ')})` : ''
  return `${type.type}${args}${values}${type.optional ? '?' : ''}`
}

/** The n-th type argument; any if it is absent. */
export function getTypeArgument(type: TypeMetadata, index: number): TypeMetadata {
  return type.type_args[index] ?? ANY_TYPE
}

/** A test whether an enum lists a value, for many values: it avoids comparing each value of two long lists with each other. */
export function createEnumTest({ values }: TypeMetadata): (value: string | number) => boolean {
  const listed = new Set(values)
  return (value) => listed.has(value)
}

const NUMBER_TYPES = new Set(['int', 'float'])

function isSameKindAssignable(source: TypeMetadata, target: TypeMetadata): boolean {
  if (source.type === 'list') return isExactlyAssignable(getTypeArgument(source, 0), getTypeArgument(target, 0))
  if (source.type === 'dict') {
    return (
      isExactlyAssignable(getTypeArgument(source, 0), getTypeArgument(target, 0)) &&
      isExactlyAssignable(getTypeArgument(source, 1), getTypeArgument(target, 1))
    )
  }
  if (source.type === 'enum') {
    return source.values.length === 0 || target.values.length === 0 || source.values.some(createEnumTest(target))
  }
  return true
}

/** `isAssignable` without wrapping a scalar into a list: the rule inside containers. */
export function isExactlyAssignable(source: TypeMetadata, target: TypeMetadata): boolean {
  if (source.type === 'any' || target.type === 'any') return true
  if (source.type === 'union') return source.type_args.every((member) => isExactlyAssignable(member, target))
  if (target.type === 'union') return target.type_args.some((member) => isExactlyAssignable(source, member))
  if (source.type === target.type) return isSameKindAssignable(source, target)
  if (NUMBER_TYPES.has(source.type) && NUMBER_TYPES.has(target.type)) return true
  return (source.type === 'enum' && target.type === 'str') || (source.type === 'str' && target.type === 'enum')
}

/**
 * Whether an output of type `source` may feed an input of type `target`: the same type, any on either side, one
 * number for another, text for an enum and back, a scalar for a list of it, every member of a source union.
 */
export function isAssignable(source: TypeMetadata, target: TypeMetadata): boolean {
  if (isExactlyAssignable(source, target)) return true
  if (source.type === 'union') return source.type_args.every((member) => isAssignable(member, target))
  if (target.type === 'union') return target.type_args.some((member) => isAssignable(source, member))
  return target.type === 'list' && source.type !== 'list' && isExactlyAssignable(source, getTypeArgument(target, 0))
}
