// Helpers for parsed JSON of clients and servers. Functions that change a value return the same value if nothing
// changes, so that callers can compare with `===`.

import { isLongJson, parseBoundedJson, parseBoundedJsonSteps } from '../../models/providers/shared/json-parsing.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { isRecord } from '../../shared/record.ts'
import type { Steps } from '../../shared/time-slices.ts'

export type JsonRecord = Record<string, unknown>

export function isNonEmptyText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Servers omit such fields or leave them empty. */
export function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** @throws MalformedDataError */
export function parseObject(text: string): JsonRecord {
  try {
    const value = parseBoundedJson(text)
    if (isRecord(value)) return value
  } catch {}
  throw createNoObjectError()
}

/** Parses a long text in steps. */
export function* parseObjectBytesSteps(bytes: Buffer): Steps<JsonRecord> {
  try {
    const value = yield* parseBoundedJsonSteps(bytes)
    if (isRecord(value)) return value
  } catch {}
  throw createNoObjectError()
}

/** Like `parseObject`, in steps if the text is long. */
export function* parseObjectSteps(text: string): Steps<JsonRecord> {
  return isLongJson(text) ? yield* parseObjectBytesSteps(Buffer.from(text)) : parseObject(text)
}

function createNoObjectError(): MalformedDataError {
  return new MalformedDataError('data that is not a JSON object')
}

/** Sets these fields. Returns the same object if all of them have these values already. */
export function withFields(given: JsonRecord, fields: JsonRecord): JsonRecord {
  for (const name in fields) if (given[name] !== fields[name]) return { ...given, ...fields }
  return given
}

/** Maps each item. Returns the same list if no item changes. */
export function withItems(given: unknown[], become: (item: unknown, at: number) => unknown): unknown[] {
  const items = given.map(become)
  return items.every((item, at) => item === given[at]) ? given : items
}
