// HubClient reads a model hub: the list of a repository's files with their digests, and the bytes of the files.
import { NodeError } from '../engine/node-api/node-error.ts'
import { ChunkBuffer } from '../net/chunk-buffer.ts'
import type { FetchedResponse, GuardedFetch } from '../net/outgoing/guarded-fetch.ts'
import { DownloadError } from './error.ts'
import type { ListedFile } from './hub-file.ts'
import { parseFileList } from './hub-file-list.ts'

export interface HubClient {
  /** @throws DownloadError; the signal's reason */
  listFiles(repo_id: string, signal: AbortSignal): Promise<readonly ListedFile[]>
  /**
   * Opens a file at the offset `from`. `tag` is the ETag of the version whose first bytes are stored.
   * @throws DownloadError; the signal's reason
   */
  openFile(repo_id: string, path: string, from: number, tag: string | null, signal: AbortSignal): Promise<HubFileStream>
}

export interface HubFileStream {
  /** Offset of the first byte: 0 if the hub sends the whole file. */
  readonly from: number
  /** The ETag of this version; null if the hub gives none. */
  readonly etag: string | null
  /** Fails with a DownloadError. */
  readonly bytes: AsyncIterable<Uint8Array>
  discard(): void
}

export interface HubClientParts {
  /** Without a slash at the end. */
  readonly base_url: string
  readonly client: GuardedFetch
  /** The caller's key, or null. It is sent only to the hub. */
  readonly key: string | null
  /** Milliseconds that a list may take from its first to its last byte. */
  readonly list_ms: number
}

const MOST_LIST_BYTES = 32 * 1024 * 1024
const LONGEST_WAIT_S = 60
const TOO_SLOW = 'The hub takes too long to send its list of files.'
/** The hub sends this if the stored part is longer than the file, which has changed. */
const RANGE_NOT_SATISFIABLE = 416

export function createHubClient({ base_url, client, key, list_ms }: HubClientParts): HubClient {
  const get = async (path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const sent = key === null ? headers : { ...headers, Authorization: `Bearer ${key}` }
    try {
      return await client.get({ url: `${base_url}${path}`, headers: sent, secrets: key === null ? [] : [key], signal })
    } catch (error) {
      throw toUnreachableError(error, base_url)
    }
  }
  return {
    async listFiles(repo_id, signal) {
      const late = AbortSignal.timeout(list_ms)
      const either = AbortSignal.any([signal, late])
      try {
        const answer = await get(
          `/api/models/${encodePath(repo_id)}?blobs=true`,
          { Accept: 'application/json' },
          either,
        )
        requireSuccess(answer, repo_id, key !== null)
        return parseFileList(await readJson(answer), repo_id)
      } catch (error) {
        signal.throwIfAborted()
        throw late.aborted ? new DownloadError(TOO_SLOW, { isTransient: true, cause: error }) : error
      }
    },
    async openFile(repo_id, path, from, tag, signal) {
      const part = from > 0 && tag !== null
      const headers: Record<string, string> = part ? { Range: `bytes=${from}-`, 'If-Range': tag } : {}
      const address = `/${encodePath(repo_id)}/resolve/main/${encodePath(path)}`
      const first = await get(address, headers, signal)
      const answer =
        first.status === RANGE_NOT_SATISFIABLE ? await retryWithoutRange(first, () => get(address, {}, signal)) : first
      requireSuccess(answer, `${repo_id}/${path}`, key !== null)
      const found = answer.headers.get('etag') ?? null
      return {
        from: answer.status === 206 ? parseRangeStart(answer, from) : 0,
        // A weak ETag does not say that the bytes are the same (RFC 9110, section 13.1.5).
        etag: found?.startsWith('W/') ? null : found,
        bytes: mapStreamErrors(answer.body),
        discard: () => answer.discard(),
      }
    },
  }
}

function retryWithoutRange(answer: FetchedResponse, get: () => Promise<FetchedResponse>): Promise<FetchedResponse> {
  answer.discard()
  return get()
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function requireSuccess(answer: FetchedResponse, what: string, keyed: boolean): void {
  const { status, headers } = answer
  if (status === 200 || status === 206) return
  answer.discard()
  const shown = what.slice(0, 200)
  if (status === 401 || status === 403) {
    const cure = keyed ? 'the key HF_TOKEN does not give access' : 'it may need the key HF_TOKEN, or not exist'
    throw new DownloadError(`The hub refuses access to "${shown}": ${cure}.`)
  }
  if (status === 404) throw new DownloadError(`The hub has no "${shown}".`)
  const isTransient = status === 408 || status === 429 || status >= 500
  const why = status === 429 ? 'received too many requests' : `answered with ${status}`
  throw new DownloadError(`The hub ${why}.`, {
    isTransient,
    retry_after_ms: parseRetryAfter(headers.get('retry-after')),
  })
}

function parseRetryAfter(header: string | undefined): number | null {
  const seconds = header !== undefined && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null
  return seconds === null ? null : Math.min(seconds, LONGEST_WAIT_S) * 1_000
}

function parseRangeStart(answer: FetchedResponse, from: number): number {
  const start = /^bytes (\d+)-/.exec(answer.headers.get('content-range') ?? '')?.[1]
  if (start !== undefined && Number(start) === from) return from
  answer.discard()
  throw new DownloadError('The hub sent another part of the file than the requested one.', { isTransient: true })
}

async function readJson(answer: FetchedResponse): Promise<unknown> {
  const kept = new ChunkBuffer()
  let size = 0
  for await (const piece of mapStreamErrors(answer.body)) {
    size += piece.length
    if (size > MOST_LIST_BYTES) throw new DownloadError('The list of files that the hub sent is too long.')
    kept.add(piece)
  }
  try {
    return JSON.parse(Buffer.concat(kept.chunks()).toString('utf8'))
  } catch (cause) {
    throw new DownloadError('The hub sent no list of files.', { isTransient: true, cause })
  }
}

/** Errors of the connection, after which a retry may succeed. A refusal is final. */
const TRANSIENT_ERRORS = new Set(['connection_failed', 'http_timeout', 'bad_response'])

function toDownloadError(error: unknown): unknown {
  if (!(error instanceof NodeError)) return error
  return new DownloadError(error.message, { isTransient: TRANSIENT_ERRORS.has(error.type), cause: error })
}

/** Errors without any response. */
const UNREACHABLE_ERRORS = new Set(['connection_failed', 'name_not_found', 'tls_failed', 'http_timeout'])

/** Proposes a remedy when the hub does not answer. */
export const OTHER_HUB_HINT = 'SVC_MODEL_HUB_URL names another hub.'

/** Does the same for a request without a response, and names the hub. */
function toUnreachableError(error: unknown, base_url: string): unknown {
  const fault = toDownloadError(error)
  if (!(fault instanceof DownloadError) || !(error instanceof NodeError) || !UNREACHABLE_ERRORS.has(error.type))
    return fault
  const { isTransient, message } = fault
  return new DownloadError(`The hub ${base_url} did not answer: ${message} ${OTHER_HUB_HINT}`, {
    isTransient,
    cause: error,
  })
}

async function* mapStreamErrors(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw toDownloadError(error)
  }
}
