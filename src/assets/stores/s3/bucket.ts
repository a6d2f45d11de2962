// Bucket reads, lists and removes the whole objects under one prefix of a bucket. It retries transient failures a few times.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { BucketSettings } from '../../../config/storage.ts'
import { yieldToEventLoop } from '../../../shared/time-slices.ts'
import { StartError } from '../../../start-error.ts'
import type { ByteRange, ObjectInfo } from '../object-store.ts'
import { BucketError } from './bucket-error.ts'
import { BucketConnection, type BucketRequest, readBodyText } from './connection.ts'
import { ObjectReadStream } from './object-read-stream.ts'
import { elementText, findElements } from './xml.ts'

export interface BucketTimeouts {
  /** Milliseconds without any byte in either direction after which a request counts as lost. */
  readonly silence_ms: number
  /** The same for a request that reads, because a caller waits for its answer. */
  readonly answer_ms: number
  /** Milliseconds without any byte after which a read fails, however often it was retried. */
  readonly read_ms: number
  /** The first pause before a retry, roughly; each further pause is three times as long. */
  readonly pause_ms: number
}

export interface BucketObjectInfo extends ObjectInfo {
  readonly etag: string
  /** In hexadecimal; null if the program that put the object did not give a digest. */
  readonly sha256: string | null
}

/** A multipart upload that was not completed. */
export interface UnfinishedUpload {
  /** The full name of the object in the bucket. */
  readonly name: string
  readonly upload_id: string
}

/** An object, and the stream of the requested range. */
export interface BucketObjectStream {
  readonly facts: BucketObjectInfo
  readonly stream: Readable
}

const DEFAULT_TIMEOUTS: BucketTimeouts = { silence_ms: 60_000, answer_ms: 10_000, read_ms: 30_000, pause_ms: 100 }
/** Milliseconds that a start waits for an answer at most. */
const CHECK_MS = 10_000
const TRIES = 3
const BACKOFF_FACTOR = 3
/** The limits of S3. */
const LONGEST_KEY_BYTES = 1_024
const LONGEST_PAGE = 1_000
/** Limits of the list of unfinished uploads, because the list of some storages never ends. */
const MOST_PAGES = 1_000
const MOST_UPLOADS = 100_000
/** Number of keys that are parsed before other work gets its turn. A key may consist of entities only, and then takes half a millisecond. */
const KEYS_AT_ONCE = 32

export class Bucket {
  readonly connection: BucketConnection
  /** The name of the object that names the owner of the prefix. It lies beside the prefix, so that it is never listed among the objects. */
  readonly claim_name: string
  readonly #settings: BucketSettings
  readonly #prefix: string
  readonly #times: BucketTimeouts
  readonly #closing = new AbortController()

  /** `folder` comes after the prefix and before the keys. */
  constructor(settings: BucketSettings, folder: string, times: Partial<BucketTimeouts> = {}) {
    this.#times = { ...DEFAULT_TIMEOUTS, ...times }
    this.connection = new BucketConnection(settings, this.#times.silence_ms)
    this.#settings = settings
    this.#prefix = `${settings.prefix === '' ? '' : `${settings.prefix}/`}${folder}/`
    this.claim_name = `${this.#prefix.slice(0, -1)}.owner`
  }

  /** The signal that aborts when the bucket is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Milliseconds that a read waits at most. */
  get read_ms(): number {
    return this.#times.read_ms
  }

  /**
   * Whether the bucket answers. Returns false if there was no answer, or a transient error.
   * @throws StartError if the bucket does not exist or refuses access
   */
  async check(): Promise<boolean> {
    const patience = AbortSignal.timeout(CHECK_MS)
    try {
      const query = { 'list-type': '2', 'max-keys': '1', prefix: this.#prefix }
      await readBodyText(await this.connection.request({ method: 'GET', query, signal: patience }))
      return true
    } catch (error) {
      if (patience.aborted) return false
      if (!(error instanceof BucketError)) throw error
      if (error.isTransient) return false
      const { bucket, endpoint } = this.#settings
      const advice = 'check SVC_STORAGE_URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
      throw new StartError(`the bucket ${bucket} at ${endpoint} cannot be used: ${error.message}; ${advice}`)
    }
  }

  /** Returns the name in the bucket for the object of a key. @throws TypeError for a key that is too long */
  nameOf(key: string): string {
    const name = this.#prefix + key
    if (Buffer.byteLength(name) <= LONGEST_KEY_BYTES) return name
    throw new TypeError(`not a key: ${JSON.stringify(key)} is too long for the bucket`)
  }

  /** Tries until `patience` aborts, by default as long as a read may take. @throws BucketError */
  async stat(key: string, patience = AbortSignal.timeout(this.#times.read_ms)): Promise<BucketObjectInfo | null> {
    const { answer_ms } = this.#times
    const call = { method: 'HEAD', key: this.nameOf(key), answer_ms, signal: this.#abortSignal(patience) } as const
    const response = await this.#withRetries(() => this.connection.request(call, [404]), patience)
    response.resume()
    return response.statusCode === 404 ? null : parseObjectInfo(response, parseContentLength(response))
  }

  /**
   * Opens a range of an object. The stream resumes after an interruption, and never ends early without an error. If the range is the whole
   * object, the stream checks the digest.
   * @throws Error for a range that goes beyond the object
   */
  async open(key: string, range: ByteRange): Promise<BucketObjectStream | null> {
    const name = this.nameOf(key)
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, this.closing])
    const { read_ms } = this.#times
    const from = (start: number, left_ms: number, etag?: string) => {
      const bytes = `bytes=${start}-${range.start + range.length - 1}`
      const headers = { range: bytes, ...(etag === undefined ? {} : { 'if-match': etag }) }
      const answer_ms = Math.max(1, Math.min(this.#times.answer_ms, left_ms))
      return this.connection.request({ method: 'GET', key: name, headers, answer_ms, signal }, [404, 416])
    }
    const deadline = performance.now() + read_ms
    const patience = AbortSignal.timeout(read_ms)
    const response = await this.#withRetries(() => from(range.start, deadline - performance.now()), patience)
    if (response.statusCode === 404 || response.statusCode === 416) response.resume()
    if (response.statusCode === 404) return null
    const size = response.statusCode === 416 ? 0 : parseWholeSize(response, range.start)
    if (size < range.start + range.length) {
      stop.abort()
      throw new Error(`the object ${key} has too few bytes for ${range.length} from ${range.start}`)
    }
    const facts = parseObjectInfo(response, size)
    const whole = range.start === 0 && range.length === size
    const again = async (done: number, left_ms: number) => {
      const more = await from(range.start + done, left_ms, facts.etag)
      if (more.statusCode === 206 && parseWholeSize(more, range.start + done) === size) return more
      more.destroy()
      throw new BucketError('the object was replaced meanwhile', { status: more.statusCode! })
    }
    const pause = (tries: number) => this.#pause(tries, signal)
    const { length } = range
    const sha256 = whole ? facts.sha256 : null
    const stream = new ObjectReadStream(response, {
      key,
      length,
      sha256,
      stall_timeout_ms: read_ms,
      reopen: again,
      pause,
      stop,
    })
    return { facts, stream }
  }

  /** Resolves when the object is gone, or was not there. Tries until `patience` aborts. @throws BucketError */
  async delete(key: string, patience?: AbortSignal): Promise<void> {
    const call = { method: 'DELETE', key: this.nameOf(key), signal: this.#abortSignal(patience) } as const
    const response = await this.#withRetries(() => this.connection.request(call, [404]), patience)
    response.resume()
  }

  /** Returns at most `limit` keys after `after`, in the order of their bytes. */
  async list(after: string | null, limit: number): Promise<string[]> {
    const keys: string[] = []
    while (keys.length < limit) {
      const wanted = Math.min(limit - keys.length, LONGEST_PAGE)
      const page = await this.#listPage(keys.at(-1) ?? after, wanted)
      keys.push(...page)
      if (page.length < wanted) break
    }
    return keys
  }

  async #listPage(after: string | null, limit: number): Promise<string[]> {
    const query: Record<string, string> = { 'list-type': '2', 'max-keys': String(limit), prefix: this.#prefix }
    if (after !== null) query['start-after'] = this.#prefix + after
    const xml = await this.#requestList(query)
    const keys: string[] = []
    for (const entry of findElements(xml, 'Contents')) {
      if (keys.length === limit) break
      keys.push(elementText(entry, 'Key')!.slice(this.#prefix.length))
      if (keys.length % KEYS_AT_ONCE === 0) await yieldToEventLoop()
    }
    return keys
  }

  /** Returns the unfinished multipart uploads: all of them, up to 100,000 uploads or 1,000 pages. */
  async listUploads(): Promise<UnfinishedUpload[]> {
    const found: UnfinishedUpload[] = []
    let query: Record<string, string> | null = { uploads: '', prefix: this.#prefix }
    for (let page = 0; query !== null && page < MOST_PAGES && found.length < MOST_UPLOADS; page++) {
      const xml: string = await this.#requestList(query)
      let entries = 0
      for (const entry of findElements(xml, 'Upload')) {
        const [name, upload_id] = [elementText(entry, 'Key'), elementText(entry, 'UploadId')]
        if (name?.startsWith(this.#prefix) && upload_id !== null) found.push({ name, upload_id })
        if (found.length === MOST_UPLOADS) break
        if (++entries % KEYS_AT_ONCE === 0) await yieldToEventLoop()
      }
      query = nextPageQuery(query, xml)
    }
    return found
  }

  /** Returns the body of the answer to a request that is safe to repeat. @throws BucketError */
  requestText(call: BucketRequest): Promise<string> {
    return this.#withRetries(async () => readBodyText(await this.connection.request(call)))
  }

  /** Returns the text of a list, within the time limit of a read. @throws BucketError */
  #requestList(query: Readonly<Record<string, string>>): Promise<string> {
    const patience = AbortSignal.timeout(this.#times.read_ms)
    const { answer_ms } = this.#times
    const call: BucketRequest = { method: 'GET', query, answer_ms, signal: this.#abortSignal(patience) }
    return this.#withRetries(async () => readBodyText(await this.connection.request(call)), patience)
  }

  /** Aborts all requests that are under way. */
  close(): void {
    this.#closing.abort(new BucketError('it is not asked any more: the service is closing'))
    this.connection.close()
  }

  #abortSignal(patience: AbortSignal = this.closing): AbortSignal {
    return AbortSignal.any([this.closing, patience])
  }

  async #withRetries<T>(ask: () => Promise<T>, patience?: AbortSignal): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        if (patience?.aborted) throw new BucketError('it did not answer in time', { cause: error })
        if (tries === TRIES || !(error instanceof BucketError && error.isTransient)) throw error
        await this.#pause(tries, this.closing)
      }
    }
  }

  #pause(tries: number, signal: AbortSignal): Promise<void> {
    return setTimeout(this.#times.pause_ms * BACKOFF_FACTOR ** (tries - 1) * (0.5 + Math.random()), undefined, {
      signal,
    })
  }
}

/**
 * Returns the query for the next page of a list of uploads; null after the last page, and if the storage does not say where the next page
 * begins.
 */
function nextPageQuery(query: Readonly<Record<string, string>>, xml: string): Record<string, string> | null {
  const [key, upload_id] = [elementText(xml, 'NextKeyMarker'), elementText(xml, 'NextUploadIdMarker')]
  if (elementText(xml, 'IsTruncated') !== 'true' || key === null || key === '') return null
  const next = { ...query, 'key-marker': key, ...(upload_id === null ? {} : { 'upload-id-marker': upload_id }) }
  const isSame = next['key-marker'] === query['key-marker'] && upload_id === (query['upload-id-marker'] ?? null)
  return isSame ? null : next
}

function parseObjectInfo({ headers }: IncomingMessage, size: number): BucketObjectInfo {
  const put_at = Number(headers['x-amz-meta-put-at'] ?? Number.NaN)
  return {
    size,
    put_at: Number.isFinite(put_at) ? put_at : Date.parse(headers['last-modified'] ?? '') || 0,
    etag: headers.etag ?? '',
    sha256: (headers['x-amz-meta-sha256'] as string | undefined) ?? null,
  }
}

function parseContentLength({ headers }: IncomingMessage): number {
  const length = Number(headers['content-length'] ?? Number.NaN)
  if (Number.isSafeInteger(length)) return length
  throw new BucketError('it did not send the length of an object', { status: 502 })
}

/**
 * Returns the size of the whole object from the answer for a range that begins at `start`.
 * @throws BucketError if the answer has another range
 */
function parseWholeSize(response: IncomingMessage, start: number): number {
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers['content-range'] ?? '') ?? []
  if (response.statusCode === 206 && Number(first) === start) return Number(size)
  if (response.statusCode === 200 && start === 0) return parseContentLength(response)
  response.destroy()
  throw new BucketError('it sent another range than the requested one', { status: 502 })
}
