// JSON texts of servers: short ones are read in one go, while everybody else waits, and long ones in steps.
import { parseJsonSteps } from '../../../payloads/incremental-json-parser.ts'
import type { Steps, TimeSliceScheduler } from '../../../shared/time-slices.ts'
import { MalformedDataError } from './provider-data-validation.ts'

/** Of objects and lists in one text: more than the log probabilities of the longest answer are. Each takes many times the two bytes that it may be written in. */
export const MAX_JSON_CONTAINERS = 1_000_000

/** Of texts and names in one long text, which may be written in three bytes each: as many as objects of log probabilities have. */
export const MAX_JSON_STRINGS = 2_000_000

/** Of one object in a long text: the names of an object are listed in one go. */
const MAX_OBJECT_NAMES = 50_000
/** In bytes: what is longer is read in steps. */
const LONG_JSON_BYTES = 262_144
/** Bytes that are looked at in one step. */
const BYTES_PER_STEP = 65_536

const BRACE = 0x7b
const BRACKET = 0x5b
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The value that a text is. Braces and brackets within its texts count as well. @throws SyntaxError; Malformed where it has too many objects and lists */
export function parseBoundedJson(text: string): unknown {
  // What is shorter has room for no more.
  if (text.length > MAX_JSON_CONTAINERS && countContainers(text) > MAX_JSON_CONTAINERS) throw tooNestedError()
  return JSON.parse(text)
}

/** Whether a text, or its bytes, takes long to read, and to look through. */
export function isLongJson({ length }: { readonly length: number }): boolean {
  return length > LONG_JSON_BYTES
}

/** As `jsonIn`, in steps where the text is long. @throws Malformed where that has too many texts as well */
export function* parseBoundedJsonSteps(bytes: Buffer): Steps<unknown> {
  if (!isLongJson(bytes)) return parseBoundedJson(bytes.toString())
  let nested = 0
  let quotes = 0
  let before = 0
  for (let at = 0; at < bytes.length; at += BYTES_PER_STEP) {
    for (const byte of bytes.subarray(at, at + BYTES_PER_STEP)) {
      if (byte === BRACE || byte === BRACKET) nested++
      // Those within texts are escaped.
      else if (byte === QUOTE && before !== BACKSLASH) quotes++
      before = byte
    }
    if (nested > MAX_JSON_CONTAINERS) throw tooNestedError()
    if (quotes > 2 * MAX_JSON_STRINGS) throw new MalformedDataError(`JSON with more than ${MAX_JSON_STRINGS} texts`)
    yield
  }
  return yield* parseJsonSteps(bytes, MAX_OBJECT_NAMES)
}

/** How the answers of one owner are read, the long ones in slices. */
export function createJsonParser(
  owner: string,
  slices: Pick<TimeSliceScheduler, 'run'>,
): (text: Buffer) => Promise<unknown> {
  return async (text) =>
    isLongJson(text) ? await slices.run(owner, parseBoundedJsonSteps(text)) : parseBoundedJson(text.toString())
}

/** The value of the text of an event: a long one by `read`, where there is one. @throws SyntaxError; Malformed where it has too many objects and lists */
export async function parseEventData(text: string, read?: (text: Buffer) => Promise<unknown>): Promise<unknown> {
  return read && isLongJson(text) ? await read(Buffer.from(text)) : parseBoundedJson(text)
}

function tooNestedError(): MalformedDataError {
  return new MalformedDataError(`JSON with more than ${MAX_JSON_CONTAINERS} objects and lists`)
}

function countContainers(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BRACE || code === BRACKET) count++
  }
  return count
}
