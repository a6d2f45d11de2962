// JSON texts of servers: short ones are read in one go, while everybody else waits, and long ones in steps.
import { parseJsonInParts } from '../payloads/json-parts.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import { Malformed } from './checked.ts'

/** Of objects and lists in one text: more than the log probabilities of the longest answer are. Each takes many times the two bytes that it may be written in. */
export const MOST_NESTED = 1_000_000

/** Of texts and names in one long text, which may be written in three bytes each: as many as objects of log probabilities have. */
export const MOST_TEXTS = 2_000_000

/** Of one object in a long text: the names of an object are listed in one go. */
const MOST_NAMES = 50_000
/** In bytes: what is longer is read in steps. */
const AT_ONCE = 262_144
/** Bytes that are looked at in one step. */
const SOME = 65_536

const BRACE = 0x7b
const BRACKET = 0x5b
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The value that a text is. Braces and brackets within its texts count as well. @throws SyntaxError; Malformed where it has too many objects and lists */
export function jsonIn(text: string): unknown {
  // What is shorter has room for no more.
  if (text.length > MOST_NESTED && nestedIn(text) > MOST_NESTED) throw tooNested()
  return JSON.parse(text)
}

/** Whether a text, or its bytes, takes long to read, and to look through. */
export function isLong({ length }: { readonly length: number }): boolean {
  return length > AT_ONCE
}

/** As `jsonIn`, in steps where the text is long. @throws Malformed where that has too many texts as well */
export function* jsonSteps(bytes: Buffer): Steps<unknown> {
  if (!isLong(bytes)) return jsonIn(bytes.toString())
  let nested = 0
  let quotes = 0
  let before = 0
  for (let at = 0; at < bytes.length; at += SOME) {
    for (const byte of bytes.subarray(at, at + SOME)) {
      if (byte === BRACE || byte === BRACKET) nested++
      // Those within texts are escaped.
      else if (byte === QUOTE && before !== BACKSLASH) quotes++
      before = byte
    }
    if (nested > MOST_NESTED) throw tooNested()
    if (quotes > 2 * MOST_TEXTS) throw new Malformed(`JSON with more than ${MOST_TEXTS} texts`)
    yield
  }
  return yield* parseJsonInParts(bytes, MOST_NAMES)
}

/** How the answers of one owner are read, the long ones in slices. */
export function readingFor(owner: string, slices: Pick<TimeSlices, 'run'>): (text: Buffer) => Promise<unknown> {
  return async (text) => (isLong(text) ? await slices.run(owner, jsonSteps(text)) : jsonIn(text.toString()))
}

/** The value of the text of an event: a long one by `read`, where there is one. @throws SyntaxError; Malformed where it has too many objects and lists */
export async function eventValue(text: string, read?: (text: Buffer) => Promise<unknown>): Promise<unknown> {
  return read && isLong(text) ? await read(Buffer.from(text)) : jsonIn(text)
}

function tooNested(): Malformed {
  return new Malformed(`JSON with more than ${MOST_NESTED} objects and lists`)
}

function nestedIn(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BRACE || code === BRACKET) count++
  }
  return count
}
