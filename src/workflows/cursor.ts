// The opaque cursors of workflow lists and version lists: where the last page ended.
import type { WorkflowCursor } from '../db/workflows.ts'
import { ServiceError } from '../errors.ts'

export function encodeCursor({ updated_at, id }: WorkflowCursor): string {
  return encode([updated_at, id])
}

/** @throws INVALID_REQUEST for anything that `encodeCursor` did not make */
export function decodeCursor(cursor: string | null | undefined): WorkflowCursor | null {
  if (cursor === null || cursor === undefined) return null
  const [updated_at, id, ...more] = decode(cursor)
  if (more.length > 0) throw notACursor()
  if (typeof updated_at !== 'string' || typeof id !== 'string') throw notACursor()
  return { updated_at, id }
}

export function encodeRevision(revision: number): string {
  return encode([revision])
}

/** @throws INVALID_REQUEST for anything that `encodeRevision` did not make */
export function decodeRevision(cursor: string | null | undefined): number | null {
  if (cursor === null || cursor === undefined) return null
  const [revision, ...more] = decode(cursor)
  if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 1) throw notACursor()
  if (more.length > 0) throw notACursor()
  return revision
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

function notACursor(): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    message: 'The cursor is not one that this server gave out.',
    problems: [{ path: '/query/cursor', message: 'not a cursor of this list' }],
  })
}
