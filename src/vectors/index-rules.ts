// The rules of an index: its vectors come from one model and have one length. Also the error for a full index.
import type { VectorIndexTable } from '../db/tables/vectors.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { VectorIndex } from '../engine/node-api/services/vectors.ts'
import { abbreviate } from '../nodes/shared/value-limits.ts'

/** The public facts of an index. */
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
    `The index "${name}" holds vectors of the model "${made}", but this vector is from "${abbreviate(model)}".`,
    'bad_input',
  )
}

/** @throws NodeError `bad_input` */
export function guardDimensions({ name, dimensions }: VectorIndexTable, length: number): void {
  if (length === dimensions) return
  const text = `The vectors of the index "${name}" have ${dimensions} numbers, but this vector has ${length}.`
  throw new NodeError(`${text} Use the model that made the index.`, 'bad_input')
}

/** The error for a reached limit. */
export function limitReached(what: string, most: number, of: string): NodeError {
  return new NodeError(`${what} ${most.toLocaleString('en')} ${of}. Remove what is not needed.`, 'too_large')
}
