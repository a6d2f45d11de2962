// What an index holds to: vectors of one model, and of one length; and what is said where it is full.
import type { VectorIndexTable } from '../db/schema.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { VectorIndex } from '../engine/node-api/node-services.ts'
import { abbreviate } from '../nodes/shared/value-limits.ts'

/** An index as it is told of. */
export function toVectorIndex({
  name,
  dimensions,
  count,
  model,
  created_at,
  updated_at,
}: VectorIndexTable): VectorIndex {
  return { name, dimensions, count, model, created_at, updated_at }
}

/** @throws NodeError `bad_input` */
export function guardIndexModel({ name, model: made }: VectorIndexTable, model: string | null): void {
  if (made === null || model === null || made === model) return
  throw new NodeError(
    `The index "${name}" holds vectors of the model "${made}", and this one is of "${abbreviate(model)}".`,
    'bad_input',
  )
}

/** @throws NodeError `bad_input` */
export function guardDimensions({ name, dimensions }: VectorIndexTable, length: number): void {
  if (length === dimensions) return
  const text = `The vectors of the index "${name}" have ${dimensions} numbers, and this one has ${length}.`
  throw new NodeError(`${text} Was it made by another model?`, 'bad_input')
}

/** There is no room for more. */
export function limitReached(what: string, most: number, of: string): NodeError {
  return new NodeError(`${what} ${most.toLocaleString('en')} ${of}. Remove what is not needed.`, 'too_large')
}
