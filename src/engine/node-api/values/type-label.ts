// The types of values in messages: never too long for one, whatever a graph declares.
import { truncateText, truncateValue } from '../../../shared/text-truncation.ts'
import type { TypeMetadata } from './type-metadata.ts'

/** Characters. */
const LONGEST_LABEL = 120
const MOST_VALUES = 8

/** The first of a list as texts, and `…` where there are more. */
export function abbreviateList<T>(list: readonly T[], text: (one: T) => string): string[] {
  const shown = list.slice(0, MOST_VALUES).map(text)
  return list.length > shown.length ? [...shown, '…'] : shown
}

function formatLabel(type: TypeMetadata, depth: number): string {
  const inner = (one: TypeMetadata) => (depth < 4 ? formatLabel(one, depth + 1) : '…')
  const args = type.type_args.length > 0 ? `[${abbreviateList(type.type_args, inner).join(', ')}]` : ''
  const values =
    type.type === 'enum' && type.values.length > 0 ? `(${abbreviateList(type.values, truncateValue).join(' | ')})` : ''
  return `${truncateText(type.type, 40)}${args}${values}${type.optional ? '?' : ''}`
}

/** The shorthand of a type, as in `typeText`, but never too long for a message. */
export function formatTypeLabel(type: TypeMetadata): string {
  return truncateText(formatLabel(type, 0), LONGEST_LABEL)
}

/** What the types are called by the nodes that take them in, such as `input.String`. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  str: 'a string',
  int: 'an integer',
  float: 'a float',
  bool: 'a boolean',
  dict: 'an object',
  list: 'a list',
}

/** A kind of value, such as `int`, in a sentence. */
export function describeKind(kind: string): string {
  return KIND_WORDS[kind] ?? kind
}

/** A type in a sentence, with its shorthand behind it where that is another word: `a string (str)`. What is made of several has the shorthand alone. */
export function describeType(type: TypeMetadata): string {
  const label = formatTypeLabel(type)
  const words = type.type_args.length === 0 ? KIND_WORDS[type.type] : undefined
  if (words === undefined) return label
  return words === `a ${label}` ? words : `${words} (${label})`
}
