// Values that were JSON text, as they came from somebody: what they are, and the same values with something else in them. What has nothing else in it
// is the value itself, so that whoever compares needs no more than `===`.
import { Malformed } from '../models/checked.ts'
import { isLong, jsonIn, jsonSteps } from '../models/json-text.ts'
import type { Steps } from '../time-slices.ts'

export type Json = Record<string, unknown>

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One with something in it. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** What servers leave away, or leave empty. */
export function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** @throws Malformed */
export function objectIn(text: string): Json {
  try {
    const value = jsonIn(text)
    if (isRecord(value)) return value
  } catch {}
  throw noObject()
}

/** The same of a long text, in steps. */
export function* objectSteps(bytes: Buffer): Steps<Json> {
  try {
    const value = yield* jsonSteps(bytes)
    if (isRecord(value)) return value
  } catch {}
  throw noObject()
}

/** As `objectIn`, in steps where the text is long. */
export function* objectInSteps(text: string): Steps<Json> {
  return isLong(text) ? yield* objectSteps(Buffer.from(text)) : objectIn(text)
}

function noObject(): Malformed {
  return new Malformed('what is no JSON object')
}

/** With these values in their fields; the object itself where it has them all. */
export function withFields(given: Json, fields: Json): Json {
  for (const name in fields) if (given[name] !== fields[name]) return { ...given, ...fields }
  return given
}

/** With what becomes of each item; the list itself where each stays what it is. */
export function withItems(given: unknown[], become: (item: unknown, at: number) => unknown): unknown[] {
  const items = given.map(become)
  return items.every((item, at) => item === given[at]) ? given : items
}
