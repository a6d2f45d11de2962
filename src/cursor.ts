// The opaque cursors of lists: where the last page ended, as a number, as a time and an id, or as texts.
import { ServiceError } from './errors.ts'

/** Lists by time have a second member, since times are shared. */
export interface Moment {
  /** RFC 3339, in UTC. */
  readonly at: string
  readonly id: string
}

/** Where a cursor stands in a request over HTTP. */
const AT = '/query/cursor'

export function encodeMoment({ at, id }: Moment): string {
  return encode([at, id])
}

/** `pointer` is that of the cursor in the request. @throws INVALID_REQUEST for anything that `encodeMoment` did not make */
export function decodeMoment(cursor: string | null | undefined, pointer = AT): Moment | null {
  if (cursor === null || cursor === undefined) return null
  const [at, id, ...more] = decode(cursor)
  if (typeof at !== 'string' || typeof id !== 'string' || more.length > 0) throw notACursor(pointer)
  return { at, id }
}

/** A number of 1 and more: of a revision, of a message. */
export function encodeNumber(number: number): string {
  return encode([number])
}

/** @throws INVALID_REQUEST for anything that `encodeNumber` did not make */
export function decodeNumber(cursor: string | null | undefined): number | null {
  if (cursor === null || cursor === undefined) return null
  const [number, ...more] = decode(cursor)
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1 || more.length > 0) throw notACursor(AT)
  return number
}

/** Texts by which a list is ordered, the first of them first. */
export function encodeTexts(texts: readonly string[]): string {
  return encode(texts)
}

/** @throws INVALID_REQUEST for anything that `encodeTexts` did not make of so many */
export function decodeTexts(cursor: string | null | undefined, count: number): string[] | null {
  if (cursor === null || cursor === undefined) return null
  const texts = decode(cursor).filter((one) => typeof one === 'string')
  if (texts.length !== count || decode(cursor).length !== count) throw notACursor(AT)
  return texts
}

function encode(position: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function decode(cursor: string): unknown[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(position) ? position : []
  } catch {
    return []
  }
}

function notACursor(path: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: 'The cursor is not one that this server gave out.',
    problems: [{ path, message: 'not a cursor of this list' }],
  })
}
