// The types of values in messages: never too long for one, whatever a graph declares.
import { cut, shortValue } from '../short.ts'
import type { TypeMetadata } from './types.ts'

/** Characters. */
const LONGEST_LABEL = 120
const MOST_VALUES = 8

/** The first of a list as texts, and `…` where there are more. */
export function few<T>(list: readonly T[], text: (one: T) => string): string[] {
  const shown = list.slice(0, MOST_VALUES).map(text)
  return list.length > shown.length ? [...shown, '…'] : shown
}

function label(type: TypeMetadata, depth: number): string {
  const inner = (one: TypeMetadata) => (depth < 4 ? label(one, depth + 1) : '…')
  const args = type.type_args.length > 0 ? `[${few(type.type_args, inner).join(', ')}]` : ''
  const values = type.type === 'enum' && type.values.length > 0 ? `(${few(type.values, shortValue).join(' | ')})` : ''
  return `${cut(type.type, 40)}${args}${values}${type.optional ? '?' : ''}`
}

/** The shorthand of a type, as in `typeText`, but never too long for a message. */
export function typeLabel(type: TypeMetadata): string {
  return cut(label(type, 0), LONGEST_LABEL)
}

/** What the types are called by the nodes that take them in, such as `input.String`. */
const CALLED: Readonly<Record<string, string>> = {
  str: 'a string',
  int: 'an integer',
  float: 'a float',
  bool: 'a boolean',
  dict: 'an object',
  list: 'a list',
}

/** A kind of value, such as `int`, in a sentence. */
export function kindWords(kind: string): string {
  return CALLED[kind] ?? kind
}

/** A type in a sentence, with its shorthand behind it where that is another word: `a string (str)`. What is made of several has the shorthand alone. */
export function typeWords(type: TypeMetadata): string {
  const label = typeLabel(type)
  const words = type.type_args.length === 0 ? CALLED[type.type] : undefined
  if (words === undefined) return label
  return words === `a ${label}` ? words : `${words} (${label})`
}
