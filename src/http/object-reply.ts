// How bytes of a file are answered, whichever operation serves them: conditions and ranges, and the headers that keep a browser from running
// what is not ours.
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { FilePieces } from '../assets/file-pieces.ts'
import type { FoundFile } from '../assets/files.ts'
import type { ByteRange } from '../assets/object-store.ts'
import { ServiceError } from '../errors.ts'
import { byteRange } from './byte-range.ts'
import { type Conditions, preconditions, rangeHolds } from './conditions.ts'
import { attachment, disposition } from './disposition.ts'
import { tellingLater } from './room.ts'

/** What is not ours runs nowhere: not as a page, not in a frame, with no origin. Styles are those that browsers give plain files. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
/** Whoever keeps a copy asks again: the file may have been removed, or the signature have expired. */
const ASK_AGAIN = 'private, no-cache'

export interface Asked extends Conditions {
  readonly range?: string | null | undefined
}

export interface Manner {
  /** The Cache-Control; without it, copies are private and asked about each time. */
  readonly cache?: string
  /** Whether it is saved whatever it is, and not only where a browser would run it. */
  readonly saved?: boolean
}

/** A file that is served. `created_at` is null where nobody knows a time at which its bytes came to be: it has no date then. */
export interface ServedFile extends Pick<FoundFile, 'name' | 'content_type' | 'size' | 'sha256'> {
  readonly created_at: string | null
  read(range: ByteRange): Promise<Readable | null>
}

type Headers = Record<string, string | number>

/** An answer about a file without its bytes: which of them are to follow, or that the caller has them. */
export type Decision =
  | { status: 304; headers: Headers }
  | { status: 200 | 206; headers: Headers; content_type: string; range: ByteRange }

/**
 * Judges what is asked of a file in the order of RFC 9110, section 13.2.2.
 * @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE
 */
export function decide(asked: Asked, file: ServedFile, manner: Manner = {}): Decision {
  const { size, content_type } = file
  const last_modified = file.created_at === null ? null : new Date(file.created_at).toUTCString()
  const validators = { etag: `"${file.sha256}"`, last_modified }
  const met = preconditions(asked, validators)
  if (met === 'failed') throw new ServiceError('PRECONDITION_FAILED')
  const common = {
    ETag: validators.etag,
    ...(last_modified === null ? {} : { 'Last-Modified': last_modified }),
    'Cache-Control': manner.cache ?? ASK_AGAIN,
  }
  if (met === 'unchanged') return { status: 304, headers: common }
  const range = asked.range && rangeHolds(asked, validators) ? byteRange(asked.range, size) : null
  if (range === 'unsatisfiable')
    throw new ServiceError('RANGE_NOT_SATISFIABLE', { headers: { 'Content-Range': `bytes */${size}` } })
  const { start, length } = range ?? { start: 0, length: size }
  const headers: Headers = {
    ...common,
    'Accept-Ranges': 'bytes',
    'Content-Length': length,
    'Content-Disposition': manner.saved ? attachment(file.name) : disposition(content_type, file.name),
    'Content-Security-Policy': POLICY,
  }
  if (range) headers['Content-Range'] = `bytes ${start}-${start + length - 1}/${size}`
  return { status: range ? 206 : 200, headers, content_type, range: { start, length } }
}

/**
 * The answer with the bytes that are asked for. Its type is that of no operation: whoever gives it says which one's it is.
 * @throws as `decide`, NOT_FOUND where the file was removed meanwhile, and what the store does where not even the first bytes can be read
 */
export async function objectReply(asked: Asked, file: ServedFile, manner?: Manner) {
  const decision = decide(asked, file, manner)
  if (decision.status === 304) return decision
  const { range, ...reply } = decision
  const body = await begun(file, range).catch((error) => {
    throw tellingLater(error)
  })
  if (!body) throw new ServiceError('NOT_FOUND')
  return { ...reply, body }
}

/** The bytes, all of them compared with their digest, once the first of them are there: what goes wrong before that has an answer, and does not only break one off. */
async function begun(file: ServedFile, range: ByteRange): Promise<Readable | null> {
  const body = await file.read(range)
  const isWhole = range.length > 0 && range.length === file.size
  if (isWhole && body instanceof FilePieces) body.compareWith(file.sha256)
  if (body && range.length > 0) await once(body, 'readable')
  return body
}
