// What a model hub has, and where: the list of a repository's files with their digests, and their bytes.
import { NodeError } from '../engine/node-error.ts'
import type { Fetched, GuardedFetch } from '../net/guarded-fetch.ts'
import { KeptPieces } from '../net/kept-pieces.ts'
import { DownloadFault } from './fault.ts'
import type { ListedFile } from './hub-file.ts'
import { filesIn } from './hub-list.ts'

export interface Hub {
  /** @throws DownloadFault; the signal's reason */
  files(repo_id: string, signal: AbortSignal): Promise<readonly ListedFile[]>
  /** The bytes of a file from the offset on. `tag` is what the version was called whose first bytes are there. @throws DownloadFault; the signal's reason */
  open(repo_id: string, path: string, from: number, tag: string | null, signal: AbortSignal): Promise<HubBytes>
}

export interface HubBytes {
  /** Where they begin: 0 where the hub gives the whole file. */
  readonly from: number
  /** What this version is called; null where the hub does not say. */
  readonly tag: string | null
  /** Fails with a DownloadFault. */
  readonly bytes: AsyncIterable<Uint8Array>
  discard(): void
}

export interface HubParts {
  /** Without a slash at its end. */
  readonly base_url: string
  readonly client: GuardedFetch
  /** The caller's key, or null. It goes to the hub and to nobody else. */
  readonly key: string | null
  /** How long a list may take from its first to its last byte, in milliseconds. */
  readonly list_ms: number
}

const MOST_LIST_BYTES = 32 * 1024 * 1024
const LONGEST_WAIT_S = 60
const TOO_SLOW = 'The hub takes too long to give its list of files.'
/** What is there is longer than the file, which has changed. */
const BEYOND = 416

export function hubOf({ base_url, client, key, list_ms }: HubParts): Hub {
  const get = async (path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const sent = key === null ? headers : { ...headers, Authorization: `Bearer ${key}` }
    try {
      return await client.get({ url: `${base_url}${path}`, headers: sent, secrets: key === null ? [] : [key], signal })
    } catch (error) {
      throw awayOf(error, base_url)
    }
  }
  return {
    async files(repo_id, signal) {
      const late = AbortSignal.timeout(list_ms)
      const either = AbortSignal.any([signal, late])
      try {
        const answer = await get(`/api/models/${encoded(repo_id)}?blobs=true`, { Accept: 'application/json' }, either)
        guardStatus(answer, repo_id, key !== null)
        return filesIn(await whole(answer), repo_id)
      } catch (error) {
        signal.throwIfAborted()
        throw late.aborted ? new DownloadFault(TOO_SLOW, { passing: true, cause: error }) : error
      }
    },
    async open(repo_id, path, from, tag, signal) {
      const part = from > 0 && tag !== null
      const headers: Record<string, string> = part ? { Range: `bytes=${from}-`, 'If-Range': tag } : {}
      const address = `/${encoded(repo_id)}/resolve/main/${encoded(path)}`
      const first = await get(address, headers, signal)
      const answer = first.status === BEYOND ? await again(first, () => get(address, {}, signal)) : first
      guardStatus(answer, `${repo_id}/${path}`, key !== null)
      const found = answer.headers.get('etag') ?? null
      return {
        from: answer.status === 206 ? startOf(answer, from) : 0,
        // A weak one does not say that the bytes are the same (RFC 9110, section 13.1.5).
        tag: found?.startsWith('W/') ? null : found,
        bytes: told(answer.body),
        discard: () => answer.discard(),
      }
    },
  }
}

function again(answer: Fetched, get: () => Promise<Fetched>): Promise<Fetched> {
  answer.discard()
  return get()
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function guardStatus(answer: Fetched, what: string, keyed: boolean): void {
  const { status, headers } = answer
  if (status === 200 || status === 206) return
  answer.discard()
  const shown = what.slice(0, 200)
  if (status === 401 || status === 403) {
    const cure = keyed ? 'HF_TOKEN is not good for it' : 'it may need the key HF_TOKEN, or not be there'
    throw new DownloadFault(`The hub does not give "${shown}" to you: ${cure}.`)
  }
  if (status === 404) throw new DownloadFault(`The hub has no "${shown}".`)
  const passing = status === 408 || status === 429 || status >= 500
  const why = status === 429 ? 'is asked too often' : `answered with ${status}`
  throw new DownloadFault(`The hub ${why}.`, { passing, after_ms: waitOf(headers.get('retry-after')) })
}

function waitOf(header: string | undefined): number | null {
  const seconds = header !== undefined && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null
  return seconds === null ? null : Math.min(seconds, LONGEST_WAIT_S) * 1_000
}

function startOf(answer: Fetched, from: number): number {
  const start = /^bytes (\d+)-/.exec(answer.headers.get('content-range') ?? '')?.[1]
  if (start !== undefined && Number(start) === from) return from
  answer.discard()
  throw new DownloadFault('The hub gave another part of the file than it was asked for.', { passing: true })
}

async function whole(answer: Fetched): Promise<unknown> {
  const kept = new KeptPieces()
  let size = 0
  for await (const piece of told(answer.body)) {
    size += piece.length
    if (size > MOST_LIST_BYTES) throw new DownloadFault('The list of files that the hub gave is too long.')
    kept.add(piece)
  }
  try {
    return JSON.parse(Buffer.concat(kept.all()).toString('utf8'))
  } catch (cause) {
    throw new DownloadFault('The hub gave no list of files.', { passing: true, cause })
  }
}

/** What goes wrong on the way may go well the next time; what is refused does not. */
const PASSING = new Set(['connection_failed', 'http_timeout', 'bad_response'])

function faultOf(error: unknown): unknown {
  if (!(error instanceof NodeError)) return error
  return new DownloadFault(error.message, { passing: PASSING.has(error.type), cause: error })
}

/** Nobody was there to answer. */
const AWAY = new Set(['connection_failed', 'name_not_found', 'tls_failed', 'http_timeout'])

/** What may help where the hub does not answer. */
export const OTHER_HUB = 'SVC_MODEL_HUB_URL names another hub.'

/** The same of a request that brought no answer, with the hub that it was for. */
function awayOf(error: unknown, base_url: string): unknown {
  const fault = faultOf(error)
  if (!(fault instanceof DownloadFault) || !(error instanceof NodeError) || !AWAY.has(error.type)) return fault
  const { passing, message } = fault
  return new DownloadFault(`No answer came from the hub ${base_url}: ${message} ${OTHER_HUB}`, {
    passing,
    cause: error,
  })
}

async function* told(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw faultOf(error)
  }
}
