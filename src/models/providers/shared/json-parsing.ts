// Parses JSON texts of servers: short ones in one go, long ones in steps, so that they do not block the event loop.
import { parseJsonSteps } from '../../../payloads/incremental-json-parser.ts'
import type { Steps, TimeSliceScheduler } from '../../../shared/time-slices.ts'
import { MalformedDataError } from './provider-data-validation.ts'

/** Objects and lists in one text: more than the log probabilities of the longest answer have. In memory each takes many times its two bytes of text. */
export const MAX_JSON_CONTAINERS = 1_000_000

/** Strings and names in one long text, of three bytes or more each: as many as the log probabilities of an answer have. */
export const MAX_JSON_STRINGS = 2_000_000

/** In one object of a long text: the names of an object are listed in one go. */
const MAX_OBJECT_NAMES = 50_000
/** Longer texts are parsed in steps. */
const LONG_JSON_BYTES = 262_144
const BYTES_PER_STEP = 65_536

const BRACE = 0x7b
const BRACKET = 0x5b
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Braces and brackets within strings count as well. @throws SyntaxError; MalformedDataError where there are too many objects and lists */
export function parseBoundedJson(text: string): unknown {
  // A shorter text cannot contain more.
  if (text.length > MAX_JSON_CONTAINERS && countContainers(text) > MAX_JSON_CONTAINERS) throw tooNestedError()
  return JSON.parse(text)
}

/** Whether a text, or its bytes, takes long to parse and to search. */
export function isLongJson({ length }: { readonly length: number }): boolean {
  return length > LONG_JSON_BYTES
}

/** Like `parseBoundedJson`, in steps where the text is long. @throws MalformedDataError also where a long text has too many strings */
export function* parseBoundedJsonSteps(bytes: Buffer): Steps<unknown> {
  if (!isLongJson(bytes)) return parseBoundedJson(bytes.toString())
  let nested = 0
  let quotes = 0
  let before = 0
  for (let at = 0; at < bytes.length; at += BYTES_PER_STEP) {
    for (const byte of bytes.subarray(at, at + BYTES_PER_STEP)) {
      if (byte === BRACE || byte === BRACKET) nested++
      // Quotes within strings are escaped.
      else if (byte === QUOTE && before !== BACKSLASH) quotes++
      before = byte
    }
    if (nested > MAX_JSON_CONTAINERS) throw tooNestedError()
    if (quotes > 2 * MAX_JSON_STRINGS) throw new MalformedDataError(`JSON with more than ${MAX_JSON_STRINGS} texts`)
    yield
  }
  return yield* parseJsonSteps(bytes, MAX_OBJECT_NAMES)
}

/** Gives the JSON parser for one owner's answers. It parses long answers in time slices. */
export function createJsonParser(
  owner: string,
  slices: Pick<TimeSliceScheduler, 'run'>,
): (text: Buffer) => Promise<unknown> {
  return async (text) =>
    isLongJson(text) ? await slices.run(owner, parseBoundedJsonSteps(text)) : parseBoundedJson(text.toString())
}

/** Parses the data of an event, a long one with `read` if given. @throws SyntaxError; MalformedDataError where there are too many objects and lists */
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
