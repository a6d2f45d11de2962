// Responses with the bytes of a file, for every operation that serves files: conditions, ranges, and headers that keep a browser from running foreign
// content.
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

/** Foreign content runs neither as a page nor in a frame, and has no origin. The styles are those that browsers give plain files. */
const FILE_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
/** A cache has to revalidate its copy: the file may have been removed, or the signature have expired. */
const PRIVATE_REVALIDATED_CACHE = 'private, no-cache'

export interface FileRequestHeaders extends ConditionalHeaders {
  readonly range?: string | null | undefined
}

export interface FileReplyOptions {
  /** The Cache-Control. By default, copies are private and revalidated each time. */
  readonly cache_control?: string
  /** Whether the file is always saved, and not only where a browser would run it. */
  readonly as_attachment?: boolean
}

/** A file to serve. `created_at` is null if it is unknown when the bytes came to be: the response then has no date. */
export interface ServedFile extends Pick<StoredFile, 'name' | 'content_type' | 'size' | 'sha256'> {
  readonly created_at: string | null
  read(range: ByteRange): Promise<Readable | null>
}

type ReplyHeaders = Record<string, string | number>

/** A response without its body: the range of bytes that follows, or 304 if the caller has the file. */
export type FileReplyHead =
  | { status: 304; headers: ReplyHeaders }
  | { status: 200 | 206; headers: ReplyHeaders; content_type: string; range: ByteRange }

/**
 * Evaluates the conditions of a request for a file in the order of RFC 9110, section 13.2.2.
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
 * The response with the requested bytes. Its type belongs to no operation: the handler narrows it.
 * @throws as `evaluateFileRequest`, NOT_FOUND if the file was removed meanwhile, and the store's error if not even the first bytes can be read
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

/**
 * Resolves once the first bytes are there, so that an earlier failure gets an error response. A whole file is compared with its digest while it is
 * read.
 */
async function openFileBytes(file: ServedFile, range: ByteRange): Promise<Readable | null> {
  const body = await file.read(range)
  const isWhole = range.length > 0 && range.length === file.size
  if (isWhole && body instanceof FileReadStream) body.verifyDigest(file.sha256)
  if (body && range.length > 0) await once(body, 'readable')
  return body
}
