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
