// Entries as they are written: checked, and within the limits of what one may be.
import type { VectorEntryTable } from '../db/schema.ts'
import { isLongerAsJson } from '../engine/measure.ts'
import { NodeError } from '../engine/node-error.ts'
import type { VectorEntry } from '../engine/services.ts'
import { bytesOf, unit } from './vector.ts'

/** In characters. */
const LONGEST_NAME = 200
const LONGEST_ID = 200
const LONGEST_TEXT = 100_000
/** In characters of JSON. */
const LONGEST_METADATA = 16_000

export type Row = Omit<VectorEntryTable, 'key' | 'index_key'>

/** @throws NodeError `bad_input` */
export function checkedName(name: string): string {
  return within(name, LONGEST_NAME, 'The name of an index')
}

/** @throws NodeError `bad_input` */
export function checkedModel(model: string | null): void {
  if (model !== null) within(model, LONGEST_NAME, 'The name of a model')
}

/** @throws NodeError `bad_input`, `too_large` */
export function rowOf({ id, vector, text, metadata }: VectorEntry): Row {
  within(id, LONGEST_ID, 'The id of an entry')
  if (text !== null && text.length > LONGEST_TEXT) throw tooLong(`The text of the entry "${id}"`, LONGEST_TEXT)
  const json = isLongerAsJson(metadata, LONGEST_METADATA) ? null : JSON.stringify(metadata)
  if (json === null || json.length > LONGEST_METADATA)
    throw tooLong(`As JSON the metadata of the entry "${id}"`, LONGEST_METADATA)
  const kept = bytesOf(unit(vector))
  const bytes = [id, json, text ?? ''].reduce((sum, one) => sum + Buffer.byteLength(one), kept.length)
  return { id, vector: kept, text, metadata: json, bytes }
}

function within(text: string, most: number, what: string): string {
  if (text === '') throw new NodeError(`${what} is empty.`, 'bad_input')
  if (text.length > most) throw new NodeError(`${what} has more than ${most} characters.`, 'bad_input')
  return text
}

function tooLong(what: string, most: number): NodeError {
  return new NodeError(`${what} would have more than ${most.toLocaleString('en')} characters. Shorten it.`, 'too_large')
}
