// Converts values along edges, or says why they do not fit their target.
import { truncateValue } from '../../../shared/text-truncation.ts'
import { conforms, getValueKind } from './type-conformance.ts'
import { describeKind, describeType, formatTypeLabel } from './type-label.ts'
import { createEnumTest, getTypeArgument, type TypeMetadata } from './type-metadata.ts'

/** Converts a value or throws `TypeMismatchError`. */
export type Coercion = (value: unknown) => unknown

/**
 * A value does not fit. The message names what was expected and the kind of the value; of a choice among few values it quotes the beginning
 * of the value.
 */
export class TypeMismatchError extends Error {
  readonly code: 'type_mismatch' | 'out_of_range'
  constructor(message: string, code: TypeMismatchError['code'] = 'type_mismatch') {
    super(message)
    this.code = code
  }
}

function describeChoice(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(truncateValue(value))
  return typeof value === 'number' ? String(value) : describeKind(getValueKind(value))
}

/** Checks a value against a type; a single value also fits where a list of it is expected. */
export function createTypeCheck(type: TypeMetadata): Coercion {
  return (value) => {
    if (conforms(value, type)) return value
    if (type.type === 'list' && !Array.isArray(value) && conforms(value, getTypeArgument(type, 0))) return [value]
    if (type.type === 'enum')
      throw new TypeMismatchError(`expected ${formatTypeLabel(type)}, got ${describeChoice(value)}`)
    const kind = getValueKind(value)
    const deep = kind === type.type && (kind === 'list' || kind === 'dict')
    throw new TypeMismatchError(
      `expected ${describeType(type)}, got ${describeKind(kind)}${deep ? ' with other values in it' : ''}`,
    )
  }
}

const wrapInList: Coercion = (value) => [value]

/** Whether every value of `source` is a value of `target`, so that no check is needed. */
function isSubtype(target: TypeMetadata, source: TypeMetadata): boolean {
  if (target.type === 'any') return true
  if (source.optional && !target.optional) return false
  if (source.type === 'any') return false
  if (source.type === 'union')
    return source.type_args.length > 0 && source.type_args.every((member) => isSubtype(target, member))
  if (target.type === 'union') return target.type_args.some((member) => isSubtype(member, source))
  if (source.type === 'int' && target.type === 'float') return true
  if (source.type !== target.type) return false
  if (source.type === 'list') return isSubtype(getTypeArgument(target, 0), getTypeArgument(source, 0))
  if (source.type === 'dict') return isSubtype(getTypeArgument(target, 1), getTypeArgument(source, 1))
  if (source.type === 'enum') {
    return target.values.length === 0 || (source.values.length > 0 && source.values.every(createEnumTest(target)))
  }
  return true
}

/** The conversion on an edge from `source` to `target`: none (null), wrapping into a list, or a check. */
export function createCoercion(source: TypeMetadata, target: TypeMetadata): Coercion | null {
  if (isSubtype(target, source)) return null
  if (target.type === 'list' && source.type !== 'union' && !source.optional && source.type !== 'any') {
    if (source.type !== 'list' && isSubtype(getTypeArgument(target, 0), source)) return wrapInList
  }
  return createTypeCheck(target)
}

export interface ValueBounds {
  min?: number
  max?: number
  values?: readonly (string | number)[]
}

function createOutOfRangeError(message: string): TypeMismatchError {
  return new TypeMismatchError(message, 'out_of_range')
}

/** Adds a property's limits to its coercion; null if there is nothing to check. */
export function withBounds(inner: Coercion | null, bounds: ValueBounds): Coercion | null {
  const { min, max, values } = bounds
  if (min === undefined && max === undefined && values === undefined) return inner
  return (given) => {
    const value = inner ? inner(given) : given
    if (typeof value === 'number' && min !== undefined && value < min)
      throw createOutOfRangeError(`must be at least ${min}`)
    if (typeof value === 'number' && max !== undefined && value > max)
      throw createOutOfRangeError(`must be at most ${max}`)
    if (values !== undefined && value !== null && !values.includes(value as string | number)) {
      throw createOutOfRangeError(`must be one of ${values.join(', ')}, not ${describeChoice(value)}`)
    }
    return value
  }
}
