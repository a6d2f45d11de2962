// Checks entries against their limits before they are written.
import type { VectorEntryTable } from '../db/tables/vectors.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { VectorEntry } from '../engine/node-api/services/vectors.ts'
import { isLongerAsJson } from '../engine/node-api/values/json-length.ts'
import { encodeVector, normalizeVector } from './vector-math.ts'

/** In characters. */
const LONGEST_NAME = 200
const LONGEST_ID = 200
const LONGEST_TEXT = 100_000
/** In characters of JSON. */
const LONGEST_METADATA = 16_000

export type VectorEntryRow = Omit<VectorEntryTable, 'key' | 'index_key'>

/** @throws NodeError `bad_input` */
export function validateIndexName(name: string): string {
  return validateName(name, LONGEST_NAME, 'The name of an index')
}

/** @throws NodeError `bad_input` */
export function validateModelName(model: string | null): void {
  if (model !== null) validateName(model, LONGEST_NAME, 'The name of a model')
}

/** @throws NodeError `bad_input`, `too_large` */
export function createEntryRow({ id, vector, text, metadata }: VectorEntry): VectorEntryRow {
  validateName(id, LONGEST_ID, 'The id of an entry')
  if (text !== null && text.length > LONGEST_TEXT) throw tooLongError(`The text of the entry "${id}"`, LONGEST_TEXT)
  const json = isLongerAsJson(metadata, LONGEST_METADATA) ? null : JSON.stringify(metadata)
  if (json === null || json.length > LONGEST_METADATA)
    throw tooLongError(`The JSON of the metadata of the entry "${id}"`, LONGEST_METADATA)
  const kept = encodeVector(normalizeVector(vector))
  const bytes = [id, json, text ?? ''].reduce((sum, one) => sum + Buffer.byteLength(one), kept.length)
  return { id, vector: kept, text, metadata: json, bytes }
}

function validateName(text: string, most: number, what: string): string {
  if (text === '') throw new NodeError(`${what} is empty.`, 'bad_input')
  if (text.length > most) throw new NodeError(`${what} has more than ${most} characters.`, 'bad_input')
  return text
}

function tooLongError(what: string, most: number): NodeError {
  return new NodeError(`${what} would have more than ${most.toLocaleString('en')} characters. Shorten it.`, 'too_large')
}
