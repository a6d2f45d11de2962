// Labels of types for messages: short, whatever a graph declares.
import { truncateText, truncateValue } from '../../../shared/text-truncation.ts'
import { formatType, type TypeMetadata } from './type-metadata.ts'

/** Characters. */
const LONGEST_LABEL = 120
const MOST_VALUES = 8

/** The first entries of a list as texts, followed by `…` if there are more. */
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

/** The shorthand of a type as in `formatType`, truncated for messages. */
export function formatTypeLabel(type: TypeMetadata): string {
  return truncateText(formatLabel(type, 0), LONGEST_LABEL)
}

/** Characters of a type in frames. Real types have some twenty; a graph may declare one of millions. */
const LONGEST_FRAME_TYPE = 4_096

const frameTypes = new WeakMap<TypeMetadata, string>()

/**
 * The shorthand of a type for the frames of a job, which a feed keeps by the thousand: it is made once for each type, and a type that is
 * very long is abbreviated.
 */
export function formatFrameType(type: TypeMetadata): string {
  const known = frameTypes.get(type)
  if (known !== undefined) return known
  const whole = formatType(type)
  const text = whole.length > LONGEST_FRAME_TYPE ? formatTypeLabel(type) : whole
  frameTypes.set(type, text)
  return text
}

/** The names of types as used by nodes such as `input.String`. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  str: 'a string',
  int: 'an integer',
  float: 'a float',
  bool: 'a boolean',
  dict: 'an object',
  list: 'a list',
}

/** A kind of value, such as `int`, in words. */
export function describeKind(kind: string): string {
  return KIND_WORDS[kind] ?? kind
}

/** A type in words, followed by its shorthand if that differs: `a string (str)`. A composed type has only its shorthand. */
export function describeType(type: TypeMetadata): string {
  const label = formatTypeLabel(type)
  const words = type.type_args.length === 0 ? KIND_WORDS[type.type] : undefined
  if (words === undefined) return label
  return words === `a ${label}` ? words : `${words} (${label})`
}
