// Uploads an object to a bucket in one request, or in parts if it is large. The storage gets the digests and refuses other bytes. An upload
// is complete only when the storage reports the right object afterwards.
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { escapeMarkup } from '../../../shared/markup-escape.ts'
import type { ObjectHandle } from '../local-object-store.ts'
import type { Bucket } from './bucket.ts'
import { BucketError } from './bucket-error.ts'
import { type BucketRequest, type BucketRequestBody, readBodyText } from './connection.ts'
import { elementText } from './xml.ts'

export interface UploadSizes {
  /** Larger objects are uploaded in parts. */
  readonly whole_bytes: number
  /** Bytes of each part except the last. Parts are larger if the object would have too many of them. */
  readonly part_bytes: number
}

export const UPLOAD_SIZES: UploadSizes = { whole_bytes: 64 * 1024 * 1024, part_bytes: 16 * 1024 * 1024 }
/** The limit of S3. */
const MOST_PARTS = 10_000
const TRIES = 4
/** Headers which say that an ETag is no MD5, although it may look like one. */
const NON_MD5_ETAG_HEADERS = [
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-server-side-encryption-customer-algorithm',
]
const PAUSE_MS = 200

interface Digests {
  readonly md5: Buffer
  /** In hexadecimal. */
  readonly sha256: string
}

/**
 * Uploads an object. When the promise resolves, the bucket has the complete object as it was opened.
 * @throws BucketError; the error of the file system
 */
export async function uploadObject(
  bucket: Bucket,
  key: string,
  held: ObjectHandle,
  sizes: UploadSizes,
  signal: AbortSignal,
): Promise<void> {
  const { size, put_at } = held.facts
  const digests = await computeDigests(held, 0, size, signal)
  const headers = { 'x-amz-meta-put-at': String(put_at), 'x-amz-meta-sha256': digests.sha256 }
  const target = { bucket, key, name: bucket.nameOf(key), held, headers, signal }
  const proven = size <= sizes.whole_bytes ? await putInOneRequest(target, digests) : await putParts(target, sizes)
  const found = await bucket.stat(key)
  if (found === null || found.size !== size || found.sha256 !== digests.sha256)
    throw mismatchError('it reports another object than the uploaded one')
  if (!proven && (await computeBucketDigest(bucket, key, size)) !== digests.sha256)
    throw mismatchError('it has other bytes than the uploaded ones')
}

interface UploadTarget {
  readonly bucket: Bucket
  readonly key: string
  readonly name: string
  readonly held: ObjectHandle
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Whether the storage reported a digest of the stored bytes, and it is right. Some storages report none, or one of another kind. */
async function putInOneRequest(
  { bucket, name, held, headers, signal }: UploadTarget,
  digests: Digests,
): Promise<boolean> {
  const { size } = held.facts
  const checksum = Buffer.from(digests.sha256, 'hex').toString('base64')
  const sent = { ...headers, ...checksumHeaders(digests), 'x-amz-checksum-sha256': checksum }
  const body: BucketRequestBody = { bytes: held.read(0, size), length: size, sha256: digests.sha256 }
  const response = await bucket.connection.request({ method: 'PUT', key: name, headers: sent, body, signal })
  await readBodyText(response)
  return isProven(response, digests.md5, checksum)
}

interface UploadedPart {
  readonly number: number
  readonly etag: string
}

async function putParts(target: UploadTarget, { part_bytes }: UploadSizes): Promise<boolean> {
  const { bucket, name, held, headers, signal } = target
  const begun = await bucket.requestText({ method: 'POST', key: name, query: { uploads: '' }, headers, signal })
  const upload_id = elementText(begun, 'UploadId')
  if (upload_id === null) throw new BucketError('it sent no id for a new upload', { status: 502 })
  try {
    const { size } = held.facts
    const each = Math.max(part_bytes, Math.ceil(size / MOST_PARTS))
    const parts: UploadedPart[] = []
    let proven = true
    for (let start = 0; start < size; start += each) {
      const length = Math.min(each, size - start)
      const part = await putPart(target, upload_id, { number: parts.length + 1, start, length })
      parts.push(part)
      proven &&= part.proven
    }
    await completeUpload(target, upload_id, parts)
    return proven
  } catch (error) {
    await abortUpload(bucket, name, upload_id).catch(() => {})
    throw error
  }
}

interface PartRange {
  readonly number: number
  readonly start: number
  readonly length: number
}

async function putPart(
  { bucket, name, held, signal }: UploadTarget,
  upload_id: string,
  { number, start, length }: PartRange,
): Promise<UploadedPart & { proven: boolean }> {
  const digests = await computeDigests(held, start, length, signal)
  const query = { partNumber: String(number), uploadId: upload_id }
  for (let tries = 1; ; tries++) {
    try {
      const body: BucketRequestBody = { bytes: held.read(start, length), length, sha256: digests.sha256 }
      const call: BucketRequest = { method: 'PUT', key: name, query, headers: checksumHeaders(digests), body, signal }
      const response = await bucket.connection.request(call)
      await readBodyText(response)
      const { etag } = response.headers
      if (etag === undefined) throw mismatchError('it sent no ETag for an uploaded part')
      return { number, etag, proven: isProven(response, digests.md5) }
    } catch (error) {
      if (tries === TRIES || signal.aborted || !isRetryable(error)) throw error
      await setTimeout(PAUSE_MS * 2 ** tries * Math.random(), undefined, { signal })
    }
  }
}

/** The storage answers 200 before it knows whether it can complete the upload, and reports an error in the body. */
async function completeUpload(
  { bucket, name, signal }: UploadTarget,
  upload_id: string,
  parts: readonly UploadedPart[],
): Promise<void> {
  const list = parts.map(
    ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeMarkup(etag)}</ETag></Part>`,
  )
  const xml = Buffer.from(`<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`)
  const body = { bytes: singleChunk(xml), length: xml.length, sha256: createHash('sha256').update(xml).digest('hex') }
  const headers = { 'content-type': 'application/xml' }
  const query = { uploadId: upload_id }
  const call: BucketRequest = { method: 'POST', key: name, query, headers, body, signal }
  const answer = await readBodyText(await bucket.connection.request(call))
  const code = elementText(answer, 'Error') === null ? null : elementText(answer, 'Code')
  if (code !== null) throw new BucketError(`it answered ${code}`, { status: 500, code })
}

/** Frees the uploaded parts of an object that will not be completed. */
export async function abortUpload(bucket: Bucket, name: string, upload_id: string): Promise<void> {
  const query = { uploadId: upload_id }
  const response = await bucket.connection.request(
    { method: 'DELETE', key: name, query, signal: bucket.closing },
    [404],
  )
  response.resume()
}

async function computeDigests(
  held: ObjectHandle,
  start: number,
  length: number,
  signal: AbortSignal,
): Promise<Digests> {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')]
  for await (const chunk of held.read(start, length)) {
    signal.throwIfAborted()
    md5.update(chunk)
    sha256.update(chunk)
  }
  return { md5: md5.digest(), sha256: sha256.digest('hex') }
}

async function computeBucketDigest(bucket: Bucket, key: string, size: number): Promise<string | null> {
  const hash = createHash('sha256')
  const opened = await bucket.open(key, { start: 0, length: size })
  if (opened === null) return null
  for await (const chunk of opened.stream) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

/** Returns headers that make a storage refuse other bytes. */
function checksumHeaders({ md5 }: Digests): Record<string, string> {
  return { 'content-type': 'application/octet-stream', 'content-md5': md5.toString('base64') }
}

/** Whether an answer has a digest that matches the stored bytes. Objects with other encryption have an ETag that is no MD5. */
function isProven({ headers }: IncomingMessage, md5: Buffer, sha256?: string): boolean {
  const etag = headers.etag?.replaceAll('"', '').toLowerCase() ?? ''
  if (/^[0-9a-f]{32}$/.test(etag) && !NON_MD5_ETAG_HEADERS.some((name) => name in headers))
    return etag === md5.toString('hex')
  return sha256 !== undefined && headers['x-amz-checksum-sha256'] === sha256
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof BucketError)) return false
  return error.isTransient || ['BadDigest', 'XAmzContentSHA256Mismatch', 'RequestTimeout'].includes(error.code ?? '')
}

function mismatchError(message: string): BucketError {
  return new BucketError(message, { status: 502 })
}

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
