// The downloads of this process: whose they are, how many run at once, and who is told of them.
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { GuardedFetch } from '../net/guarded-fetch.ts'
import type { OwnRequests } from '../net/own-requests.ts'
import { Places } from '../workers/places.ts'
import type { Wanted } from './choosing.ts'
import { Download } from './download.ts'
import { DownloadFault } from './fault.ts'
import { hubOf } from './hub.ts'
import { isSafePath } from './safe-path.ts'

export interface DownloadsParts {
  /** The models folder. */
  readonly folder: string
  /** Without a slash at its end. */
  readonly hub_url: string
  /** What may be reached beyond the public internet, besides the hub. */
  readonly allow: readonly string[]
  readonly log: Log
  /** Knows what is sent, in a process that serves as well. */
  readonly own?: OwnRequests
  readonly silence_ms?: number
  readonly list_ms?: number
  readonly pause_ms?: number
}

/** Hears of the downloads of one owner. */
export type Listener = (update: DownloadUpdateFrame) => void

/** Others wait. Users are served in turns, and where one has all of them, another one has one more. */
const RUNNING_AT_ONCE = 3
/** Of one owner, those that wait included. */
const MOST_OF_ONE = 20
/** Progress is told no more often, in milliseconds. */
const BETWEEN_MS = 250
const PAUSE_MS = 500
const LIST_MS = 60_000

interface Kept {
  readonly download: Download
  readonly owner: string
  /** Whose turns it has: those of the user, in whatever workspace. */
  readonly user: string
  told_at: number
  later: NodeJS.Timeout | undefined
  /** Ends its waiting for its turn. */
  readonly forgotten: AbortController
}

export class Downloads implements AsyncDisposable {
  readonly #parts: DownloadsParts
  readonly #client: GuardedFetch
  /** Those that have not ended, by owner, repository and path. */
  readonly #kept = new Map<string, Kept>()
  /** By owner, then by who listens. */
  readonly #listeners = new Map<string, Map<object, Listener>>()
  readonly #places = new Places(RUNNING_AT_ONCE)
  readonly #runs = new Set<Promise<void>>()

  constructor(parts: DownloadsParts) {
    this.#parts = parts
    const { allow, hub_url: origin, own = null, silence_ms } = parts
    this.#client = new GuardedFetch({ allow, origin, own, ...(silence_ms === undefined ? {} : { silence_ms }) })
  }

  /** Starts it, or finds the one that runs. Listeners other than `by` are told. @throws ServiceError `INVALID_REQUEST`, `CONFLICT`, `QUEUE_FULL` */
  start(owner: Scope, wanted: Wanted, key: string | null, by: object | null = null): DownloadUpdateFrame {
    const id = scopedKey(owner, wanted.repo_id, wanted.path ?? '')
    const known = this.#kept.get(id)
    if (known) return followed(known.download, wanted)
    guardPaths(wanted)
    const mine = scopedKey(owner)
    if ([...this.#kept.values()].filter((one) => one.owner === mine).length >= MOST_OF_ONE)
      throw new ServiceError('QUEUE_FULL')
    const { folder, hub_url: base_url, pause_ms = PAUSE_MS, list_ms = LIST_MS } = this.#parts
    const hub = hubOf({ base_url, client: this.#client, key, list_ms })
    const download = new Download({ wanted, hub, folder, pause_ms, changed: (cause) => this.#changed(id, kept, cause) })
    const kept: Kept = {
      download,
      owner: mine,
      user: userKey(owner),
      told_at: performance.now(),
      later: undefined,
      forgotten: new AbortController(),
    }
    this.#kept.set(id, kept)
    const update = download.update
    this.#tell(mine, update, by)
    const run = this.#run(kept).finally(() => this.#runs.delete(run))
    this.#runs.add(run)
    return update
  }

  /** Listeners other than `by` are told. @throws ServiceError `NOT_FOUND` where it does not run */
  cancel(owner: Scope, repo_id: string, path: string | null, by: object | null = null): DownloadUpdateFrame {
    const id = scopedKey(owner, repo_id, path ?? '')
    const kept = this.#kept.get(id)
    if (!kept) throw new ServiceError('NOT_FOUND', { message: 'There is no such download under way.' })
    this.#forget(id, kept)
    kept.download.cancel()
    const { update } = kept.download
    this.#tell(kept.owner, update, by)
    return update
  }

  /** Tells the present state of each of the owner's downloads, and then all that comes of them. Gives what ends that. */
  follow(owner: Scope, who: object, listener: Listener): () => void {
    const mine = scopedKey(owner)
    const listeners = this.#listenersOf(mine)
    listeners.set(who, listener)
    for (const { owner: whose, download } of this.#kept.values()) if (whose === mine) listener(download.update)
    return () => {
      listeners.delete(who)
      if (listeners.size === 0 && this.#listeners.get(mine) === listeners) this.#listeners.delete(mine)
    }
  }

  /** Ends what runs, without a word; what is stored stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [id, kept] of this.#kept) {
      this.#forget(id, kept)
      kept.download.cancel()
    }
    await Promise.all(this.#runs)
    await this.#client[Symbol.asyncDispose]()
  }

  #listenersOf(owner: string): Map<object, Listener> {
    const known = this.#listeners.get(owner) ?? new Map<object, Listener>()
    this.#listeners.set(owner, known)
    return known
  }

  async #run({ download, user, forgotten: { signal } }: Kept): Promise<void> {
    try {
      await this.#places.turn(user, signal)
    } catch {
      return
    }
    try {
      await download.run()
    } finally {
      this.#places.giveBack(user)
    }
  }

  #changed(id: string, kept: Kept, cause: unknown): void {
    if (this.#kept.get(id) !== kept) return
    const { download } = kept
    if (download.status !== 'start' && download.status !== 'progress') {
      this.#forget(id, kept)
      if (cause !== undefined) this.#logged(download, cause)
      return this.#tell(kept.owner, download.update)
    }
    if (kept.later) return
    const wait = Math.max(0, kept.told_at + BETWEEN_MS - performance.now())
    kept.later = setTimeout(() => {
      kept.later = undefined
      kept.told_at = performance.now()
      this.#tell(kept.owner, download.update)
    }, wait)
  }

  #forget(id: string, kept: Kept): void {
    clearTimeout(kept.later)
    kept.forgotten.abort()
    this.#kept.delete(id)
  }

  #logged(download: Download, cause: unknown): void {
    const { repo_id, path } = download.wanted
    const err = cause instanceof DownloadFault ? (cause.cause ?? cause) : cause
    this.#parts.log.warn({ err, repo_id, path }, 'a download failed')
  }

  #tell(owner: string, update: DownloadUpdateFrame, except: object | null = null): void {
    for (const [who, listener] of this.#listeners.get(owner) ?? []) if (who !== except) listener(update)
  }
}

function followed(download: Download, wanted: Wanted): DownloadUpdateFrame {
  const same = (of: Wanted) => JSON.stringify([of.model_type, of.allow, of.ignore])
  if (same(download.wanted) === same(wanted)) return download.update
  throw new ServiceError('CONFLICT', {
    message: 'This download is under way with other patterns or another model type.',
  })
}

function guardPaths({ repo_id, path }: Wanted): void {
  if (!isSafePath(repo_id)) throw unsafe('/data/repo_id', 'is no name of a repository that may be used')
  if (path !== null && !isSafePath(path)) throw unsafe('/data/path', 'is no path that may be used')
}

function unsafe(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path} ${message}.`, problems: [{ path, message }] })
}
