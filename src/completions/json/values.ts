// Values that were JSON text, as they came from somebody: what they are, and the same values with something else in them. What has nothing else in it
// is the value itself, so that whoever compares needs no more than `===`.

import { isLongJson, parseBoundedJson, parseBoundedJsonSteps } from '../../models/providers/shared/json-parsing.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { Steps } from '../../shared/time-slices.ts'

export type JsonRecord = Record<string, unknown>

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One with something in it. */
export function isNonEmptyText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** What servers leave away, or leave empty. */
export function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** @throws Malformed */
export function parseObject(text: string): JsonRecord {
  try {
    const value = parseBoundedJson(text)
    if (isRecord(value)) return value
  } catch {}
  throw createNoObjectError()
}

/** The same of a long text, in steps. */
export function* parseObjectBytesSteps(bytes: Buffer): Steps<JsonRecord> {
  try {
    const value = yield* parseBoundedJsonSteps(bytes)
    if (isRecord(value)) return value
  } catch {}
  throw createNoObjectError()
}

/** As `objectIn`, in steps where the text is long. */
export function* parseObjectSteps(text: string): Steps<JsonRecord> {
  return isLongJson(text) ? yield* parseObjectBytesSteps(Buffer.from(text)) : parseObject(text)
}

function createNoObjectError(): MalformedDataError {
  return new MalformedDataError('what is no JSON object')
}

/** With these values in their fields; the object itself where it has them all. */
export function withFields(given: JsonRecord, fields: JsonRecord): JsonRecord {
  for (const name in fields) if (given[name] !== fields[name]) return { ...given, ...fields }
  return given
}

/** With what becomes of each item; the list itself where each stays what it is. */
export function withItems(given: unknown[], become: (item: unknown, at: number) => unknown): unknown[] {
  const items = given.map(become)
  return items.every((item, at) => item === given[at]) ? given : items
}
