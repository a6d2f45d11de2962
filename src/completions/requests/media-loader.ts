// Loads the pictures and files of one request: with the guarded HTTP client, or from the caller's assets. Size, number
// and time are limited. A URL that occurs twice is fetched once but counts twice, since it is sent twice.

import { PACKAGES_PATH } from '../../assets/bundled-packages.ts'
import { detectContentType, mediaKindOf } from '../../assets/content-type.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { AssetAccess } from '../../engine/node-api/services/assets.ts'
import type { OutgoingHttp } from '../../engine/node-api/services/outgoing-http.ts'

export interface LoadedMedia {
  readonly url: string
  /** The name of the file, if it has one. */
  readonly name: string | null
}

/** @throws NodeError; the signal's reason */
export type LoadMedia = () => Promise<LoadedMedia>

/** In bytes: the limit of one picture or file, and of all that are fetched for one request. */
const MAX_PART_BYTES = 20 * 1024 * 1024
const MAX_REQUEST_BYTES = 50 * 1024 * 1024
/** In milliseconds, for one picture, including redirects. */
const FETCH_MS = 15_000
const MAX_REDIRECTS = 5

const ERROR_MESSAGES: Readonly<Record<string, string>> = {
  too_large: `The picture is larger than the limit of ${MAX_PART_BYTES / 1024 / 1024} MiB, or than what other pictures and files leave of the limit for the request.`,
  http_timeout: 'The picture did not arrive in time.',
  too_many_redirects: `The URL of the picture was redirected more than ${MAX_REDIRECTS} times.`,
}

const OWN_PATHS = ['/api/storage/', PACKAGES_PATH]
const ASSET = 'asset://'
const DATA = /^data:([^,;]*)((?:;[^,;]*)*?)(;base64)?,/i

export type MediaPartType = 'image_url' | 'input_audio' | 'file'

/**
 * The location of content: `here` in the request, `own` for the caller's assets, or `anywhere`.
 * @throws NodeError for invalid content and unknown URLs
 */
export function locateMedia(type: MediaPartType, value: string): 'here' | 'own' | 'anywhere' {
  if (type === 'input_audio') return validateBase64(value, 0)
  if (value.slice(0, 5).toLowerCase() === 'data:') return validateDataUrl(value, type)
  if ([ASSET, ...OWN_PATHS].some((place) => value.startsWith(place))) return 'own'
  if (type === 'image_url' && /^https?:/i.test(value)) return 'anywhere'
  const taken = type === 'file' ? 'a data: URL or asset://<id>' : 'an http, https or data: URL, or asset://<id>'
  throw new NodeError(`This URL is not supported. Send ${taken}.`, 'bad_reference')
}

export interface MediaLoaderParts {
  readonly http: OutgoingHttp
  /** The assets that the caller may load. */
  readonly assets: Pick<AssetAccess, 'load'>
  readonly signal: AbortSignal
  readonly fetch_ms?: number
}

/** Loaded content with its size. */
interface SizedMedia {
  readonly part: LoadedMedia
  /** In bytes, before the encoding. */
  readonly size: number
}

export class MediaLoader {
  readonly #http: OutgoingHttp
  readonly #assets: Pick<AssetAccess, 'load'>
  readonly #signal: AbortSignal
  readonly #fetch_ms: number
  readonly #loads_by_url = new Map<string, Promise<SizedMedia>>()
  #bytes_left = MAX_REQUEST_BYTES

  constructor({ http, assets, signal, fetch_ms = FETCH_MS }: MediaLoaderParts) {
    this.#http = http
    this.#assets = assets
    this.#signal = signal
    this.#fetch_ms = fetch_ms
  }

  /** Returns null for inline content. @throws NodeError for invalid content and unknown URLs */
  prepareLoad(type: MediaPartType, value: string): LoadMedia | null {
    const where = locateMedia(type, value)
    if (where === 'here') return null
    const load = () => (where === 'own' ? this.#load(value, type as 'file') : this.#fetch(value))
    return () => this.#loadOnce(`${type} ${value}`, load)
  }

  async #loadOnce(place: string, load: () => Promise<SizedMedia>): Promise<LoadedMedia> {
    const finding = this.#loads_by_url.get(place) ?? load()
    this.#loads_by_url.set(place, finding)
    const { part, size } = await finding
    // Parallel fetches may together exceed the bytes that are left.
    this.#bytes_left -= size
    if (this.#bytes_left < 0)
      throw createTooLargeError('All pictures and files of the request together have', MAX_REQUEST_BYTES)
    return part
  }

  async #load(reference: string, type: 'image_url' | 'file'): Promise<SizedMedia> {
    const { bytes, content_type, name } = await this.#assets.load(reference, this.#max_bytes)
    this.#signal.throwIfAborted()
    const actual = type === 'file' ? content_type : detectImageType(bytes)
    return { part: { url: encodeDataUrl(bytes, actual), name }, size: bytes.length }
  }

  async #fetch(url: string): Promise<SizedMedia> {
    if (OWN_PATHS.some((place) => url.includes(place))) {
      const own = await this.#load(url, 'image_url').catch((error) => {
        if (error instanceof NodeError && error.type === 'bad_reference') return null
        throw error
      })
      if (own) return own
    }
    const { status, body } = await this.#http
      .send({
        method: 'GET',
        url,
        headers: { Accept: 'image/*' },
        body: null,
        timeout_ms: this.#fetch_ms,
        max_bytes: this.#max_bytes,
        max_redirects: MAX_REDIRECTS,
        secrets: [],
        secret_body: false,
        signal: this.#signal,
      })
      .catch((error) => {
        throw rewordError(error)
      })
    if (status < 200 || status > 299)
      throw new NodeError(`The picture could not be fetched: its server answered ${status}.`, 'bad_response')
    return { part: { url: encodeDataUrl(body, detectImageType(body)), name: null }, size: body.length }
  }

  get #max_bytes(): number {
    if (this.#bytes_left <= 0)
      throw createTooLargeError('All pictures and files of the request together have', MAX_REQUEST_BYTES)
    return Math.min(MAX_PART_BYTES, this.#bytes_left)
  }
}

function encodeDataUrl({ buffer, byteOffset, byteLength }: Uint8Array, content_type: string): string {
  return `data:${content_type};base64,${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}`
}

/** Detects the type from the bytes, since declared types may be wrong. */
function detectImageType(bytes: Uint8Array): string {
  const type = detectContentType(bytes, null)
  if (mediaKindOf(type) === 'image') return type
  throw new NodeError('The content is not a picture. PNG, JPEG, GIF and WebP are supported.', 'bad_response')
}

function validateDataUrl(url: string, type: 'image_url' | 'file'): 'here' {
  // The head is short: this avoids a search through megabytes.
  const head = DATA.exec(url.slice(0, 1_000))
  if (!head?.[3])
    throw new NodeError('A data: URL must hold base64: data:<content type>;base64,<data>.', 'bad_reference')
  if (type === 'image_url' && !/^image\//i.test(head[1]!))
    throw new NodeError('A data: URL of a picture must have a content type image/….', 'bad_reference')
  return validateBase64(url, head[0].length)
}

/** Standard base64 with its padding (RFC 4648, section 4), from position `from`. */
function validateBase64(text: string, from: number): 'here' {
  const length = text.length - from
  if (length > Math.ceil(MAX_PART_BYTES / 3) * 4) throw createTooLargeError('The data has', MAX_PART_BYTES)
  const other = /[^A-Za-z0-9+/]/g
  other.lastIndex = from
  const end = other.exec(text)?.index ?? text.length
  const isPadded = /^={0,2}$/.test(text.slice(end, end + 3))
  if (length === 0 || length % 4 !== 0 || !isPadded)
    throw new NodeError('The data is not base64 (RFC 4648, with padding).', 'bad_reference')
  return 'here'
}

/** The HTTP client's messages name settings that the caller of a completion cannot change. */
function rewordError(error: unknown): unknown {
  if (!(error instanceof NodeError) || !Object.hasOwn(ERROR_MESSAGES, error.type)) return error
  return new NodeError(ERROR_MESSAGES[error.type]!, error.type, { cause: error })
}

function createTooLargeError(what: string, most: number): NodeError {
  return new NodeError(`${what} more than the limit of ${most / 1024 / 1024} MiB.`, 'too_large')
}
