// Integers that no number of the engine holds: written without a point and an exponent, and beyond 2^53, one becomes another one when it is read.
// Where the service itself reads a value they are refused, with their places.
import { decode } from '@msgpack/msgpack'
import { decodeWithProtoKeys } from '../client/message-pack-proto-keys.ts'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { truncateText } from '../shared/text-truncation.ts'
import { appendToPointer } from '../shared/validation-problems.ts'

const LARGEST = 2n ** 53n
const LARGEST_DIGITS = String(LARGEST)
/** Digits of the shortest one. */
const DIGITS = LARGEST_DIGITS.length
const LONGEST_SHOWN = 40

const [QUOTE, MINUS, ZERO, NINE, POINT, UPPER_E, BACKSLASH, LOWER_E] = [0x22, 0x2d, 0x30, 0x39, 0x2e, 0x45, 0x5c, 0x65]

/** Whether JSON text may have one: a run of digits that is long enough, and no part of a fraction. One byte of each sixteen is looked at. */
export function mayHoldWideInteger(text: Uint8Array): boolean {
  /** Where a digit of a fraction is that was looked at: most long runs are such. */
  let fraction = -1
  for (let at = DIGITS - 1; at < text.length; at += DIGITS) {
    if (!isDigit(text[at]!)) continue
    let from = at
    while (from > fraction + 1 && isDigit(text[from - 1]!)) from--
    if (text[from - 1] === POINT || (fraction >= 0 && from === fraction + 1)) {
      fraction = at
      continue
    }
    let to = at + 1
    while (to < text.length && isDigit(text[to]!)) to++
    if (to - from >= DIGITS && !isNumberContinuation(text[to])) return true
    at = to - 1
  }
  return false
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function isNumberContinuation(byte: number | undefined): boolean {
  return byte === POINT || byte === UPPER_E || byte === LOWER_E
}

/** No text that is accepted begins with half a character. */
const WIDE_MARK = '\ud800'

/** Leaves the mark of a byte order away. */
const UTF_8 = new TextDecoder()

/** The problems of JSON text in UTF-8, which is known to be JSON: most have none, and are not read for that. */
export function findWideIntegersInUtf8(text: Uint8Array, at: string): Problem[] {
  return mayHoldWideInteger(text) ? findWideIntegersInJson(UTF_8.decode(text), at) : []
}

/** The places of such integers of JSON text, which is known to be JSON: of as many as are told. */
export function findWideIntegersInJson(text: string, at: string): Problem[] {
  const isMarked = (value: unknown) => typeof value === 'string' && value.startsWith(WIDE_MARK)
  const digitsOf = (value: unknown) => (isMarked(value) ? (value as string).slice(WIDE_MARK.length) : null)
  return findProblems(JSON.parse(markWideIntegers(text)), at, digitsOf)
}

/** The text with a marked text in the place of each such integer. It is read letter by letter: a regular expression has no room for long texts. */
function markWideIntegers(text: string): string {
  const pieces: string[] = []
  let from = 0
  for (let at = 0; at < text.length; ) {
    const letter = text.charCodeAt(at)
    if (letter === QUOTE) at = endOfText(text, at)
    else if (letter === MINUS || isDigit(letter)) {
      const end = endOfNumber(text, at)
      if (isWideNumber(text, at, end)) {
        pieces.push(
          text.slice(from, at),
          `"${WIDE_MARK}${truncateText(text.slice(at, Math.min(end, at + CUT)), LONGEST_SHOWN)}"`,
        )
        from = end
      }
      at = end
    } else at++
  }
  return pieces.join('') + text.slice(from)
}

/** More than what is shown, so that it is seen to be cut. */
const CUT = 2 * LONGEST_SHOWN

/** The place behind the text that begins at a quotation mark. */
function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end + 1
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && (isDigit(text.charCodeAt(at)) || isNumberCharacter(text.charCodeAt(at)))) at++
  return at
}

/** A sign, a point, or the letter of an exponent. */
function isNumberCharacter(letter: number): boolean {
  return letter === MINUS || letter === PLUS || isNumberContinuation(letter)
}

const PLUS = 0x2b

/** Whether the number between two places is an integer beyond 2^53. JSON has no zeros at the beginning of one. */
function isWideNumber(text: string, start: number, end: number): boolean {
  const from = text.charCodeAt(start) === MINUS ? start + 1 : start
  if (end - from < DIGITS) return false
  for (let at = from; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false
  return end - from > DIGITS || text.slice(from, end) > LARGEST_DIGITS
}

/** Heads of the integers of 64 bits. */
const [UNSIGNED_64, SIGNED_64] = [0xcf, 0xd3]

/** The same of MessagePack, which is known to be whole and no deeper than it may be. */
export function findWideIntegersInMessagePack(data: Uint8Array): Problem[] {
  if (!data.includes(UNSIGNED_64) && !data.includes(SIGNED_64)) return []
  const value = decodeWithProtoKeys((options) => {
    const { mapKeyConverter: converted = keepKey } = options
    const mapKeyConverter = (key: unknown) => (typeof key === 'bigint' ? markKey(key) : converted(key))
    return decode(data, { ...options, mapKeyConverter, useBigInt64: true })
  })
  return findProblems(value, '', (one) => (typeof one === 'bigint' && isWideInteger(one) ? String(one) : null))
}

const keepKey = (key: unknown) => key as string

/** An integer as the name of a member; one that would become another is marked. */
function markKey(key: bigint): string {
  return isWideInteger(key) ? `${WIDE_MARK}${key}` : String(key)
}

function isWideInteger(integer: bigint): boolean {
  return integer > LARGEST || integer < -LARGEST
}

type DigitsOf = (value: unknown) => string | null

/** `digitsOf` gives the digits of what is such an integer. One problem more than are told is found at the most. */
function findProblems(value: unknown, at: string, digitsOf: DigitsOf): Problem[] {
  const problems: Problem[] = []
  const look = (one: unknown, place: string): void => {
    if (problems.length > MAX_PROBLEMS) return
    const digits = digitsOf(one)
    if (digits !== null) problems.push(toProblem(digits, place))
    else if (typeof one === 'object' && one !== null && !(one instanceof Uint8Array)) lookInto(one, place)
  }
  const lookInto = (one: object, place: string): void => {
    for (const [key, member] of Object.entries(one)) {
      if (problems.length > MAX_PROBLEMS) return
      const isMarked = key.startsWith(WIDE_MARK)
      const inside = appendToPointer(place, isMarked ? key.slice(WIDE_MARK.length) : key)
      if (isMarked) problems.push(toProblem(key.slice(WIDE_MARK.length), inside))
      look(member, inside)
    }
  }
  look(value, at)
  return problems
}

function toProblem(digits: string, path: string): Problem {
  const shown = truncateText(digits, LONGEST_SHOWN)
  return {
    path,
    message: `must not lie beyond 2^53: ${shown} would become another number; send it as a text`,
    code: 'wide_integer',
  }
}
