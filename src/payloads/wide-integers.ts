// Finds integers that a JavaScript number cannot hold: integers beyond 2^53, written without a point and an exponent, would change when
// they are read. They are refused, with their places, if the service itself reads the value.
import { decode } from '@msgpack/msgpack'
import { decodeWithProtoKeys } from '../client/message-pack-proto-keys.ts'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { truncateText } from '../shared/text-truncation.ts'
import { appendToPointer } from '../shared/validation-problems.ts'

const LARGEST = 2n ** 53n
const LARGEST_DIGITS = String(LARGEST)
/** Digits of the shortest such integer. */
const DIGITS = LARGEST_DIGITS.length
const LONGEST_SHOWN = 40

const [QUOTE, MINUS, ZERO, NINE, POINT, UPPER_E, BACKSLASH, LOWER_E] = [0x22, 0x2d, 0x30, 0x39, 0x2e, 0x45, 0x5c, 0x65]

/** Whether JSON text may have such an integer: a run of enough digits that is no part of a fraction. The scan reads one byte in sixteen. */
export function mayHoldWideInteger(text: Uint8Array): boolean {
  /** Offset of a digit of the last fraction. Most long runs of digits are fractions. */
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

/** Marks a wide integer. No accepted text begins with half a character. */
const WIDE_MARK = '\ud800'

/** This decoder drops a byte order mark. */
const UTF_8 = new TextDecoder()

/** Returns the problems of JSON text in UTF-8 that is known to be JSON. Most texts have none, and are not parsed for this. */
export function findWideIntegersInUtf8(text: Uint8Array, at: string): Problem[] {
  return mayHoldWideInteger(text) ? findWideIntegersInJson(UTF_8.decode(text), at) : []
}

/** Returns the problems with wide integers in JSON text that is known to be JSON, up to one more than an error lists. */
export function findWideIntegersInJson(text: string, at: string): Problem[] {
  const isMarked = (value: unknown) => typeof value === 'string' && value.startsWith(WIDE_MARK)
  const digitsOf = (value: unknown) => (isMarked(value) ? (value as string).slice(WIDE_MARK.length) : null)
  return findProblems(JSON.parse(markWideIntegers(text)), at, digitsOf)
}

/**
 * Replaces each wide integer by a marked string. The text is scanned character by character, because a regular expression overflows its
 * stack on long texts.
 */
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

/** Longer than the shown digits, so that the cut is visible. */
const CUT = 2 * LONGEST_SHOWN

/** Returns the offset after the string that begins at a quotation mark. */
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

/** Whether a character is a sign, a point, or the letter of an exponent. */
function isNumberCharacter(letter: number): boolean {
  return letter === MINUS || letter === PLUS || isNumberContinuation(letter)
}

const PLUS = 0x2b

/** Whether the number between two offsets is an integer beyond 2^53. JSON allows no leading zeros. */
function isWideNumber(text: string, start: number, end: number): boolean {
  const from = text.charCodeAt(start) === MINUS ? start + 1 : start
  if (end - from < DIGITS) return false
  for (let at = from; at < end; at++) if (!isDigit(text.charCodeAt(at))) return false
  return end - from > DIGITS || text.slice(from, end) > LARGEST_DIGITS
}

/** Head bytes of 64-bit integers. */
const [UNSIGNED_64, SIGNED_64] = [0xcf, 0xd3]

/** Does the same for MessagePack that is known to be complete and within the allowed depth. */
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

/** Returns an integer key as a name; a wide one is marked. */
function markKey(key: bigint): string {
  return isWideInteger(key) ? `${WIDE_MARK}${key}` : String(key)
}

function isWideInteger(integer: bigint): boolean {
  return integer > LARGEST || integer < -LARGEST
}

type DigitsOf = (value: unknown) => string | null

/** `digitsOf` returns the digits of a wide integer, or null. The search stops at one problem more than an error lists. */
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
    message: `must be between -2^53 and 2^53: ${shown} would become another number; send it as a string`,
    code: 'wide_integer',
  }
}
