// PreviewScheduler generates the metadata and thumbnails of assets in the background. Separate processes (src/media) decode the content, so
// that hostile content harms only them. Users take turns, and each has one task at a time. Rows record which assets are left, so that a
// restart continues.
import { setImmediate } from 'node:timers/promises'
import { findNextUnpreviewed, listUsersWithUnpreviewed } from '../../db/assets/previews.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { Log } from '../../log.ts'
import { PreviewGenerator, type PreviewGeneratorParts } from './generator.ts'
import { type AssetOfUser, UrgentPreviewQueue } from './urgent-queue.ts'

export interface PreviewSchedulerParts extends PreviewGeneratorParts {
  readonly log: Log
}

/** Number of tasks that run at once, each of another user. Each may have 32 MiB of content in memory. */
const MOST_AT_ONCE = 4
/** How many of them may be tasks that no request waits for. */
const MOST_BACKGROUND_AT_ONCE = 2
/** Number of users that one query returns. */
const BATCH = 100
/** Milliseconds after a row was written by which its transaction has surely ended. */
const COMMITTED_MS = 100
/** Milliseconds between rounds. Each round begins with the assets that are left: after an error, busy processes, or a slow commit. */
const ROUND_MS = 30_000

/** The asset whose preview is generated next. `key` is the key of its row; null if a request waits for the preview. */
interface NextPreview extends AssetOfUser {
  readonly key: number | null
}

interface RunningPreview {
  readonly urgent: boolean
  readonly ended: Promise<void>
}

export class PreviewScheduler implements AsyncDisposable {
  readonly #parts: PreviewSchedulerParts
  readonly #generator: PreviewGenerator
  readonly #stopped = new AbortController()
  readonly #urgent = new UrgentPreviewQueue()
  /** Users who may have assets left. The first one has the next turn. */
  readonly #waitingUsers = new Set<string>()
  /** By user, the row key up to which failed assets are skipped in this round. */
  readonly #skippedUpTo = new Map<string, number>()
  /** By user. */
  readonly #running = new Map<string, RunningPreview>()
  #roundTimer: NodeJS.Timeout | null = null

  constructor(parts: PreviewSchedulerParts) {
    this.#parts = parts
    this.#generator = new PreviewGenerator(parts, this.#stopped.signal)
  }

  /** Starts to generate previews of existing and new assets. */
  start(): void {
    this.#roundTimer = setInterval(() => void this.#beginRound(), ROUND_MS)
    this.#roundTimer.unref()
    void this.#beginRound()
  }

  /** Call this when a transaction writes a row of this user that needs a preview. */
  added(user_id: string): void {
    setTimeout(() => {
      this.#waitingUsers.add(user_id)
      this.#startPreviews()
    }, COMMITTED_MS).unref()
  }

  /**
   * Generates the preview of one committed asset before all background tasks of its user. Resolves when that is done, or after `ms`
   * milliseconds. It never rejects, and the task goes on after the time limit.
   */
  async prioritize(asset: AssetOfUser, ms: number): Promise<void> {
    if (!this.#isOpen) return
    const done = this.#urgent.add(asset)
    this.#startPreviews()
    const timeout = Promise.withResolvers<void>()
    const timer = setTimeout(timeout.resolve, ms)
    await Promise.race([done, timeout.promise])
    clearTimeout(timer)
  }

  /** Aborts running tasks, which the next process starts again. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    clearInterval(this.#roundTimer ?? undefined)
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    this.#urgent.settleAll()
  }

  get #isOpen(): boolean {
    return this.#roundTimer !== null && !this.#stopped.signal.aborted
  }

  /** Lets all users with assets that are left take a turn. */
  async #beginRound(): Promise<void> {
    this.#skippedUpTo.clear()
    try {
      for (let after: string | undefined = ''; after !== undefined && this.#isOpen; await setImmediate()) {
        const users = this.#parts.store.read((tx) => listUsersWithUnpreviewed(tx, after!, BATCH))
        for (const user_id of users) this.#waitingUsers.add(user_id)
        this.#startPreviews()
        after = users.length === BATCH ? users.at(-1) : undefined
      }
    } catch (err) {
      this.#parts.log.error({ err }, 'assets without previews could not be listed')
    }
  }

  /** Starts as many tasks as are allowed. */
  #startPreviews(): void {
    try {
      for (let next = this.#next(); next; next = this.#next()) this.#startPreview(next)
    } catch (err) {
      this.#parts.log.error({ err }, 'assets without previews could not be listed')
    }
  }

  #next(): NextPreview | null {
    if (!this.#isOpen || this.#running.size >= MOST_AT_ONCE) return null
    const asset = this.#urgent.next(this.#running)
    if (asset) return { ...asset, key: null }
    const background = [...this.#running.values()].filter(({ urgent }) => !urgent)
    return background.length < MOST_BACKGROUND_AT_ONCE ? this.#nextOfUsers() : null
  }

  /** Returns the next asset of the next user. The user's next turn comes after those of all other users. */
  #nextOfUsers(): NextPreview | null {
    for (const user_id of this.#waitingUsers) {
      if (this.#running.has(user_id)) continue
      this.#waitingUsers.delete(user_id)
      const row = this.#parts.store.read((tx) => findNextUnpreviewed(tx, user_id, this.#skippedUpTo.get(user_id) ?? 0))
      if (!row) continue
      this.#waitingUsers.add(user_id)
      return { ...row, user_id }
    }
    return null
  }

  #startPreview(next: NextPreview): void {
    const ended = this.#generate(next).then(() => {
      this.#running.delete(next.user_id)
      this.#startPreviews()
    })
    this.#running.set(next.user_id, { urgent: next.key === null, ended })
  }

  /** Generates one preview. Never rejects. */
  async #generate(asset: NextPreview): Promise<void> {
    try {
      await this.#generator.generate(asset.id)
    } catch (err) {
      if (asset.key !== null) this.#skippedUpTo.set(asset.user_id, asset.key)
      const busy = err instanceof NodeError && err.type === 'busy'
      if (!busy && !this.#stopped.signal.aborted)
        this.#parts.log.error({ err }, 'the preview of an asset could not be generated')
    }
    this.#urgent.settle(asset)
  }
}
