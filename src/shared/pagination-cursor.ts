// The opaque cursors of lists. A cursor holds the end of the last page: a number, a time and an id, or texts.
import { ServiceError } from '../errors.ts'

/** Lists by time need the id as well, since several rows may have the same time. */
export interface TimeCursor {
  /** RFC 3339, in UTC. */
  readonly at: string
  readonly id: string
}

/** The JSON pointer of the cursor in an HTTP request. */
const CURSOR_POINTER = '/query/cursor'

export function encodeTimeCursor({ at, id }: TimeCursor): string {
  return encodePosition([at, id])
}

/** `pointer` is the JSON pointer of the cursor in the request. @throws INVALID_REQUEST for a cursor that `encodeTimeCursor` did not make */
export function decodeTimeCursor(cursor: string | null | undefined, pointer = CURSOR_POINTER): TimeCursor | null {
  if (cursor === null || cursor === undefined) return null
  const [at, id, ...more] = decodePosition(cursor)
  if (typeof at !== 'string' || typeof id !== 'string' || more.length > 0) throw invalidCursorError(pointer)
  return { at, id }
}

/** Encodes a number of at least 1, such as a revision or the number of a message. */
export function encodeNumberCursor(number: number): string {
  return encodePosition([number])
}

/** @throws INVALID_REQUEST for a cursor that `encodeNumberCursor` did not make */
export function decodeNumberCursor(cursor: string | null | undefined): number | null {
  if (cursor === null || cursor === undefined) return null
  const [number, ...more] = decodePosition(cursor)
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1 || more.length > 0)
    throw invalidCursorError(CURSOR_POINTER)
  return number
}

function encodePosition(position: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url')
}

function decodePosition(cursor: string): unknown[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return Array.isArray(position) ? position : []
  } catch {
    return []
  }
}

function invalidCursorError(path: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: 'The cursor is not one that this server gave out.',
    problems: [{ path, message: 'not a cursor of this list' }],
  })
}
