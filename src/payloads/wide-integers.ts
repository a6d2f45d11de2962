// Integers that no number of the engine holds: written without a point and an exponent, and beyond 2^53, one becomes another one when it is read.
// Where the service itself reads a value they are refused, with their places.
import { decode } from '@msgpack/msgpack'
import { withAnyKeys } from '../client/any-keys.ts'
import type { Problem } from '../errors.ts'
import { pointer } from '../problems.ts'
import { cut } from '../short.ts'

const LARGEST = 2n ** 53n
/** Digits of the shortest one. */
const DIGITS = 16
const LONGEST_SHOWN = 40

const [ZERO, NINE, POINT, UPPER_E, LOWER_E] = [0x30, 0x39, 0x2e, 0x45, 0x65]

/** Whether JSON text may have one: a run of digits that is long enough, and no part of a fraction. One byte of each sixteen is looked at. */
export function mayHoldWide(text: Uint8Array): boolean {
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
    if (to - from >= DIGITS && !goesOn(text[to])) return true
    at = to - 1
  }
  return false
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

function goesOn(byte: number | undefined): boolean {
  return byte === POINT || byte === UPPER_E || byte === LOWER_E
}

/** Texts, which are left as they are, and what may be such an integer. */
const TEXT_OR_INTEGER = /"(?:[^"\\]|\\.)*"|(?<![\w.+-])-?\d{16,}(?![\w.])/gs
/** No text that is accepted begins with half a character. */
const MARK = '\ud800'

/** The places of all such integers of JSON text, which is known to be JSON. */
export function wideInJson(text: string, at: string): Problem[] {
  const marked = text.replace(TEXT_OR_INTEGER, (found) =>
    found.startsWith('"') || !isWide(BigInt(found)) ? found : `"${MARK}${found}"`,
  )
  const isMarked = (value: unknown) => typeof value === 'string' && value.startsWith(MARK)
  return problemsIn(JSON.parse(marked), at, (value) => (isMarked(value) ? (value as string).slice(1) : null))
}

/** Heads of the integers of 64 bits. */
const [UNSIGNED_64, SIGNED_64] = [0xcf, 0xd3]

/** The places of all such integers of MessagePack, which is known to be whole and no deeper than it may be. */
export function wideInMessagePack(data: Uint8Array): Problem[] {
  if (!data.includes(UNSIGNED_64) && !data.includes(SIGNED_64)) return []
  const value = withAnyKeys((options) => decode(data, { ...options, useBigInt64: true }))
  return problemsIn(value, '', (one) => (typeof one === 'bigint' && isWide(one) ? String(one) : null))
}

function isWide(integer: bigint): boolean {
  return integer > LARGEST || integer < -LARGEST
}

/** `wideOf` gives the digits of what is such an integer. */
function problemsIn(value: unknown, at: string, wideOf: (value: unknown) => string | null): Problem[] {
  const digits = wideOf(value)
  if (digits !== null) return [{ path: at, message: sentence(digits), code: 'wide_integer' }]
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([key, member]) => problemsIn(member, pointer(at, key), wideOf))
}

function sentence(digits: string): string {
  return `must not lie beyond 2^53: ${cut(digits, LONGEST_SHOWN)} would become another number; send it as a text`
}
