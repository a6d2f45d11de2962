// Type metadata of properties and outputs, its shorthand, and the rule which type fits which.
// Whether a value is of a type is decided in values.ts.

export interface TypeMetadata {
  /** any, str, int, float, bool, list, dict, union, enum, image, audio, video, document, dataframe, model, chunk … */
  type: string
  /** True where null is a value of the type. */
  optional: boolean
  /** The values of an enum, else empty. */
  values: readonly (string | number)[]
  /** list: [item] · dict: [key, value] · union: the members · else empty. */
  type_args: readonly TypeMetadata[]
  type_name: string | null
}

export const ANY: TypeMetadata = Object.freeze({
  type: 'any',
  optional: false,
  values: Object.freeze([]),
  type_args: Object.freeze([]),
  type_name: null,
})

export const TYPE_NAMES: ReadonlySet<string> = new Set(
  'any str int float bool list dict union enum image audio video document dataframe model chunk'.split(' '),
)

/** Whether the engine has a rule of its own for this type. */
export function isTypeName(name: string): boolean {
  return TYPE_NAMES.has(name)
}

const NAME = /^[a-z][a-z0-9_]*/

interface Cursor {
  text: string
  at: number
}

function take(cursor: Cursor, symbol: string): boolean {
  if (cursor.text[cursor.at] !== symbol) return false
  cursor.at++
  return true
}

function parseArguments(cursor: Cursor): TypeMetadata[] {
  if (!take(cursor, '[')) return []
  const args: TypeMetadata[] = []
  do args.push(parseType(cursor))
  while (take(cursor, ','))
  if (!take(cursor, ']')) throw new Error(`Type "${cursor.text}" lacks a closing bracket`)
  return args
}

function parseType(cursor: Cursor): TypeMetadata {
  const name = NAME.exec(cursor.text.slice(cursor.at))?.[0]
  if (!name) throw new Error(`Type "${cursor.text}" has no name at position ${cursor.at}`)
  cursor.at += name.length
  const type_args = parseArguments(cursor)
  return { type: name, optional: take(cursor, '?'), values: [], type_args, type_name: null }
}

const parsed = new Map<string, TypeMetadata>()

/** Reads a shorthand: `str`, `list[str]`, `dict[str,any]`, `union[int,str]`; a trailing `?` makes it optional. */
export function t(shorthand: string): TypeMetadata {
  const known = parsed.get(shorthand)
  if (known) return known
  const cursor = { text: shorthand.replaceAll(' ', ''), at: 0 }
  const type = parseType(cursor)
  if (cursor.at !== cursor.text.length) throw new Error(`Type "${shorthand}" goes on after its end`)
  parsed.set(shorthand, type)
  return type
}

/** An enum of the given values. */
export function oneOf(...values: (string | number)[]): TypeMetadata {
  return { type: 'enum', optional: false, values, type_args: [], type_name: null }
}

/** A declared type has so many parts at most, and an enum so many values of so many characters: comparing two of them must stay cheap. */
const MOST_PARTS = 16
const MOST_VALUES = 256
const LONGEST_VALUE = 2_000

function isListed(values: unknown): values is unknown[] {
  if (!Array.isArray(values) || values.length > MOST_VALUES) return false
  return values.every((one) => typeof one !== 'string' || one.length <= LONGEST_VALUE)
}

function readPart(value: unknown, budget: { left: number }): TypeMetadata {
  if (typeof value !== 'object' || value === null || --budget.left < 0) return ANY
  const given = value as Partial<Record<keyof TypeMetadata, unknown>>
  if (typeof given.type !== 'string' || given.type === '') return ANY
  const listed = isListed(given.values) ? given.values : []
  return {
    type: given.type,
    optional: given.optional === true,
    values: listed.filter((one) => typeof one === 'string' || typeof one === 'number'),
    type_args: Array.isArray(given.type_args)
      ? given.type_args.slice(0, MOST_PARTS).map((one) => readPart(one, budget))
      : [],
    type_name: typeof given.type_name === 'string' ? given.type_name : null,
  }
}

/**
 * Reads type metadata sent by a client; what is missing takes its neutral value, what is no type becomes any. So do parts beyond
 * the 16th; an enum of more than 256 values, or with one of more than 2,000 characters, has none listed.
 */
export function readType(value: unknown): TypeMetadata {
  return readPart(value, { left: MOST_PARTS })
}

/** The shorthand of a type, for messages. */
export function typeText(type: TypeMetadata): string {
  const args = type.type_args.length > 0 ? `[${type.type_args.map(typeText).join(', ')}]` : ''
  const values = type.type === 'enum' && type.values.length > 0 ? `(${type.values.join(' | ')})` : ''
  return `${type.type}${args}${values}${type.optional ? '?' : ''}`
}

/** The n-th type argument; one that isn't given is any. */
export function argument(type: TypeMetadata, index: number): TypeMetadata {
  return type.type_args[index] ?? ANY
}

/** Whether an enum lists a value, for whoever asks for many: of two long lists each value would be compared with each. */
export function listing({ values }: TypeMetadata): (value: string | number) => boolean {
  const listed = new Set(values)
  return (value) => listed.has(value)
}

const NUMBERS = new Set(['int', 'float'])

function sameKindFits(source: TypeMetadata, target: TypeMetadata): boolean {
  if (source.type === 'list') return fitsExactly(argument(source, 0), argument(target, 0))
  if (source.type === 'dict') {
    return (
      fitsExactly(argument(source, 0), argument(target, 0)) && fitsExactly(argument(source, 1), argument(target, 1))
    )
  }
  if (source.type === 'enum') {
    return source.values.length === 0 || target.values.length === 0 || source.values.some(listing(target))
  }
  return true
}

/** Like `fits`, without wrapping a scalar into a list: the rule inside containers. */
export function fitsExactly(source: TypeMetadata, target: TypeMetadata): boolean {
  if (source.type === 'any' || target.type === 'any') return true
  if (source.type === 'union') return source.type_args.every((member) => fitsExactly(member, target))
  if (target.type === 'union') return target.type_args.some((member) => fitsExactly(source, member))
  if (source.type === target.type) return sameKindFits(source, target)
  if (NUMBERS.has(source.type) && NUMBERS.has(target.type)) return true
  return (source.type === 'enum' && target.type === 'str') || (source.type === 'str' && target.type === 'enum')
}

/**
 * Whether an output of type `source` may feed an input of type `target`: the same type, any on either side, one
 * number for another, text for an enum and back, a scalar for a list of it, every member of a source union.
 */
export function fits(source: TypeMetadata, target: TypeMetadata): boolean {
  if (fitsExactly(source, target)) return true
  if (source.type === 'union') return source.type_args.every((member) => fits(member, target))
  if (target.type === 'union') return target.type_args.some((member) => fits(source, member))
  return target.type === 'list' && source.type !== 'list' && fitsExactly(source, argument(target, 0))
}
