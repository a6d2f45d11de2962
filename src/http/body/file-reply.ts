// How bytes of a file are answered, whichever operation serves them: conditions and ranges, and the headers that keep a browser from running
// what is not ours.
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { StoredFile } from '../../assets/file-lookup.ts'
import { FileReadStream } from '../../assets/stores/file-read-stream.ts'
import type { ByteRange } from '../../assets/stores/object-store.ts'
import { ServiceError } from '../../errors.ts'
import { translateStorageError } from '../pipeline/storage-errors.ts'
import { parseByteRange } from './byte-range.ts'
import { type ConditionalHeaders, evaluatePreconditions, isRangeCurrent } from './conditional-requests.ts'
import { formatAttachment, formatDisposition } from './content-disposition.ts'

/** What is not ours runs nowhere: not as a page, not in a frame, with no origin. Styles are those that browsers give plain files. */
const FILE_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
/** Whoever keeps a copy asks again: the file may have been removed, or the signature have expired. */
const PRIVATE_REVALIDATED_CACHE = 'private, no-cache'

export interface FileRequestHeaders extends ConditionalHeaders {
  readonly range?: string | null | undefined
}

export interface FileReplyOptions {
  /** The Cache-Control; without it, copies are private and asked about each time. */
  readonly cache_control?: string
  /** Whether it is saved whatever it is, and not only where a browser would run it. */
  readonly as_attachment?: boolean
}

/** A file that is served. `created_at` is null where nobody knows a time at which its bytes came to be: it has no date then. */
export interface ServedFile extends Pick<StoredFile, 'name' | 'content_type' | 'size' | 'sha256'> {
  readonly created_at: string | null
  read(range: ByteRange): Promise<Readable | null>
}

type ReplyHeaders = Record<string, string | number>

/** An answer about a file without its bytes: which of them are to follow, or that the caller has them. */
export type FileReplyHead =
  | { status: 304; headers: ReplyHeaders }
  | { status: 200 | 206; headers: ReplyHeaders; content_type: string; range: ByteRange }

/**
 * Judges what is asked of a file in the order of RFC 9110, section 13.2.2.
 * @throws PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE
 */
export function evaluateFileRequest(
  request_headers: FileRequestHeaders,
  file: ServedFile,
  options: FileReplyOptions = {},
): FileReplyHead {
  const { size, content_type } = file
  const last_modified = file.created_at === null ? null : new Date(file.created_at).toUTCString()
  const validators = { etag: `"${file.sha256}"`, last_modified }
  const outcome = evaluatePreconditions(request_headers, validators)
  if (outcome === 'failed') throw new ServiceError('PRECONDITION_FAILED')
  const common = {
    ETag: validators.etag,
    ...(last_modified === null ? {} : { 'Last-Modified': last_modified }),
    'Cache-Control': options.cache_control ?? PRIVATE_REVALIDATED_CACHE,
  }
  if (outcome === 'unchanged') return { status: 304, headers: common }
  const range =
    request_headers.range && isRangeCurrent(request_headers, validators)
      ? parseByteRange(request_headers.range, size)
      : null
  if (range === 'unsatisfiable')
    throw new ServiceError('RANGE_NOT_SATISFIABLE', { headers: { 'Content-Range': `bytes */${size}` } })
  const { start, length } = range ?? { start: 0, length: size }
  const headers: ReplyHeaders = {
    ...common,
    'Accept-Ranges': 'bytes',
    'Content-Length': length,
    'Content-Disposition': options.as_attachment
      ? formatAttachment(file.name)
      : formatDisposition(content_type, file.name),
    'Content-Security-Policy': FILE_CONTENT_POLICY,
  }
  if (range) headers['Content-Range'] = `bytes ${start}-${start + length - 1}/${size}`
  return { status: range ? 206 : 200, headers, content_type, range: { start, length } }
}

/**
 * The answer with the bytes that are asked for. Its type is that of no operation: whoever gives it says which one's it is.
 * @throws as `decide`, NOT_FOUND where the file was removed meanwhile, and what the store does where not even the first bytes can be read
 */
export async function createFileReply(
  request_headers: FileRequestHeaders,
  file: ServedFile,
  options?: FileReplyOptions,
) {
  const head = evaluateFileRequest(request_headers, file, options)
  if (head.status === 304) return head
  const { range, ...reply } = head
  const body = await openFileBytes(file, range).catch((error) => {
    throw translateStorageError(error)
  })
  if (!body) throw new ServiceError('NOT_FOUND')
  return { ...reply, body }
}

/** The bytes, all of them compared with their digest, once the first of them are there: what goes wrong before that has an answer, and does not only break one off. */
async function openFileBytes(file: ServedFile, range: ByteRange): Promise<Readable | null> {
  const body = await file.read(range)
  const isWhole = range.length > 0 && range.length === file.size
  if (isWhole && body instanceof FileReadStream) body.verifyDigest(file.sha256)
  if (body && range.length > 0) await once(body, 'readable')
  return body
}
