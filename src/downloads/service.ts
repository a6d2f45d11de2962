// DownloadService manages the downloads of this process: their owners, how many run at once, and their listeners.
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import { GuardedFetch } from '../net/outgoing/guarded-fetch.ts'
import type { OwnRequestDetector } from '../net/own-request-detector.ts'
import { FairSemaphore } from '../workers/fair-semaphore.ts'
import { Download } from './download.ts'
import { DownloadError } from './error.ts'
import type { DownloadRequest } from './file-selection.ts'
import { createHubClient } from './hub-client.ts'
import { isSafePath } from './safe-path.ts'

export interface DownloadServiceParts {
  /** The models folder. */
  readonly folder: string
  /** Without a slash at the end. */
  readonly hub_url: string
  /** Hosts beyond the public internet that may be reached, besides the hub. */
  readonly allow: readonly string[]
  readonly log: Log
  /** Detects the server's own requests, in a process that also serves. */
  readonly own?: OwnRequestDetector
  readonly silence_ms?: number
  readonly list_ms?: number
  readonly pause_ms?: number
}

/** Receives the updates of one owner's downloads. */
export type DownloadListener = (update: DownloadUpdateFrame) => void

/** Number of running downloads; further ones wait. Users take turns, and if one user has all of them, another user gets one more. */
const RUNNING_AT_ONCE = 3
/** Downloads of one owner, including those that wait. */
const MOST_PER_OWNER = 20
/** Milliseconds between progress updates, at least. */
const PROGRESS_INTERVAL_MS = 250
const PAUSE_MS = 500
const LIST_MS = 60_000

interface ActiveDownload {
  readonly download: Download
  readonly owner: string
  /** The user whose turns it takes, in any workspace. */
  readonly user: string
  notified_at: number
  notify_timer: NodeJS.Timeout | undefined
  /** Aborts its wait for a turn. */
  readonly wait_abort: AbortController
}

export class DownloadService implements AsyncDisposable {
  readonly #parts: DownloadServiceParts
  readonly #client: GuardedFetch
  /** The downloads that have not ended, by owner, repository and path. */
  readonly #active = new Map<string, ActiveDownload>()
  /** By owner, then by listening connection. */
  readonly #listeners = new Map<string, Map<object, DownloadListener>>()
  readonly #slots = new FairSemaphore(RUNNING_AT_ONCE)
  readonly #runs = new Set<Promise<void>>()

  constructor(parts: DownloadServiceParts) {
    this.#parts = parts
    const { allow, hub_url: origin, own = null, silence_ms } = parts
    this.#client = new GuardedFetch({
      allow,
      origin,
      own,
      ...(silence_ms === undefined ? {} : { idle_timeout_ms: silence_ms }),
    })
  }

  /**
   * Starts a download, or finds the running one. Listeners other than `by` are notified.
   * @throws ServiceError `INVALID_REQUEST`, `CONFLICT`, `QUEUE_FULL`
   */
  start(owner: OwnerScope, wanted: DownloadRequest, key: string | null, by: object | null = null): DownloadUpdateFrame {
    const id = ownerScopeKey(owner, wanted.repo_id, wanted.path ?? '')
    const known = this.#active.get(id)
    if (known) return joinDownload(known.download, wanted)
    validatePaths(wanted)
    const mine = ownerScopeKey(owner)
    if ([...this.#active.values()].filter((one) => one.owner === mine).length >= MOST_PER_OWNER)
      throw new ServiceError('QUEUE_FULL')
    const { folder, hub_url: base_url, pause_ms = PAUSE_MS, list_ms = LIST_MS } = this.#parts
    const hub = createHubClient({ base_url, client: this.#client, key, list_ms })
    const download = new Download({
      request: wanted,
      hub,
      folder,
      pause_ms,
      onChange: (cause) => this.#onChange(id, kept, cause),
    })
    const kept: ActiveDownload = {
      download,
      owner: mine,
      user: userShareKey(owner),
      notified_at: performance.now(),
      notify_timer: undefined,
      wait_abort: new AbortController(),
    }
    this.#active.set(id, kept)
    const update = download.update
    this.#notify(mine, update, by)
    const run = this.#run(kept).finally(() => this.#runs.delete(run))
    this.#runs.add(run)
    return update
  }

  /** Cancels a download. Listeners other than `by` are notified. @throws ServiceError `NOT_FOUND` if it is not running */
  cancel(owner: OwnerScope, repo_id: string, path: string | null, by: object | null = null): DownloadUpdateFrame {
    const id = ownerScopeKey(owner, repo_id, path ?? '')
    const kept = this.#active.get(id)
    if (!kept) throw new ServiceError('NOT_FOUND', { message: 'This download is not running.' })
    this.#remove(id, kept)
    kept.download.cancel()
    const { update } = kept.download
    this.#notify(kept.owner, update, by)
    return update
  }

  /** Sends the present state of each of the owner's downloads to the listener, and then all updates. Returns the function that ends this. */
  follow(owner: OwnerScope, who: object, listener: DownloadListener): () => void {
    const mine = ownerScopeKey(owner)
    const listeners = this.#listenersOf(mine)
    listeners.set(who, listener)
    for (const { owner: whose, download } of this.#active.values()) if (whose === mine) listener(download.update)
    return () => {
      listeners.delete(who)
      if (listeners.size === 0 && this.#listeners.get(mine) === listeners) this.#listeners.delete(mine)
    }
  }

  /** Cancels all downloads without notifying listeners. Stored bytes stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const [id, kept] of this.#active) {
      this.#remove(id, kept)
      kept.download.cancel()
    }
    await Promise.all(this.#runs)
    await this.#client[Symbol.asyncDispose]()
  }

  #listenersOf(owner: string): Map<object, DownloadListener> {
    const known = this.#listeners.get(owner) ?? new Map<object, DownloadListener>()
    this.#listeners.set(owner, known)
    return known
  }

  async #run({ download, user, wait_abort: { signal } }: ActiveDownload): Promise<void> {
    try {
      await this.#slots.acquire(user, signal)
    } catch {
      return
    }
    try {
      await download.run()
    } finally {
      this.#slots.release(user)
    }
  }

  #onChange(id: string, kept: ActiveDownload, cause: unknown): void {
    if (this.#active.get(id) !== kept) return
    const { download } = kept
    if (download.status !== 'start' && download.status !== 'progress') {
      this.#remove(id, kept)
      if (cause !== undefined) this.#logFailure(download, cause)
      return this.#notify(kept.owner, download.update)
    }
    if (kept.notify_timer) return
    const wait = Math.max(0, kept.notified_at + PROGRESS_INTERVAL_MS - performance.now())
    kept.notify_timer = setTimeout(() => {
      kept.notify_timer = undefined
      kept.notified_at = performance.now()
      this.#notify(kept.owner, download.update)
    }, wait)
  }

  #remove(id: string, kept: ActiveDownload): void {
    clearTimeout(kept.notify_timer)
    kept.wait_abort.abort()
    this.#active.delete(id)
  }

  #logFailure(download: Download, cause: unknown): void {
    const { repo_id, path } = download.request
    const err = cause instanceof DownloadError ? (cause.cause ?? cause) : cause
    this.#parts.log.warn({ err, repo_id, path }, 'a download failed')
  }

  #notify(owner: string, update: DownloadUpdateFrame, except: object | null = null): void {
    for (const [who, listener] of this.#listeners.get(owner) ?? []) if (who !== except) listener(update)
  }
}

function joinDownload(download: Download, wanted: DownloadRequest): DownloadUpdateFrame {
  const same = (of: DownloadRequest) => JSON.stringify([of.model_type, of.allow, of.ignore])
  if (same(download.request) === same(wanted)) return download.update
  throw new ServiceError('CONFLICT', {
    message: 'This download is already running with other patterns or another model type.',
  })
}

function validatePaths({ repo_id, path }: DownloadRequest): void {
  if (!isSafePath(repo_id)) throw unsafePathError('/data/repo_id', 'is not a usable repository name')
  if (path !== null && !isSafePath(path)) throw unsafePathError('/data/path', 'is not a usable path')
}

function unsafePathError(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message: `${path} ${message}.`, problems: [{ path, message }] })
}
