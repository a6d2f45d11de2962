// Looks at the content of assets, in the background: what there is to say of it, and a small picture. What hostile content does happens to a
// process of its own (src/media). Users get their turns beside and after each other, and each has one look at a time. Which assets are left is
// known by their rows, so that a restart goes on.
import { setImmediate } from 'node:timers/promises'
import { findNextUnpreviewed, listUsersWithUnpreviewed } from '../../db/assets/previews.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { Log } from '../../log.ts'
import { PreviewGenerator, type PreviewGeneratorParts } from './generator.ts'
import { type AssetOfUser, UrgentPreviewQueue } from './urgent-queue.ts'

export interface PreviewSchedulerParts extends PreviewGeneratorParts {
  readonly log: Log
}

/** How many looks there are beside each other at most, each of another user. Each may have 32 MiB of content in memory. */
const MOST_AT_ONCE = 4
/** How many of these may be looks that nobody waits for. */
const MOST_BACKGROUND_AT_ONCE = 2
/** How many users are read from the database at once. */
const BATCH = 100
/** So long after a row was written in a transaction, the transaction has ended. */
const COMMITTED_MS = 100
/** How long a round is. Each begins with what was left: by a fault, by a user whose processes were busy, or by a commit that took long. */
const ROUND_MS = 30_000

/** An asset that is looked at next. `key`: that of its row, where nobody waits for it. */
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
  /** Users of whom an asset may be left, the one whose turn comes next first. */
  readonly #waitingUsers = new Set<string>()
  /** By user, the key up to which assets that could not be looked at are passed over in this round. */
  readonly #skippedUpTo = new Map<string, number>()
  /** By user. */
  readonly #running = new Map<string, RunningPreview>()
  #roundTimer: NodeJS.Timeout | null = null

  constructor(parts: PreviewSchedulerParts) {
    this.#parts = parts
    this.#generator = new PreviewGenerator(parts, this.#stopped.signal)
  }

  /** Begins to look at what there is, and looks at what comes from now on. */
  start(): void {
    this.#roundTimer = setInterval(() => void this.#beginRound(), ROUND_MS)
    this.#roundTimer.unref()
    void this.#beginRound()
  }

  /** Is told that a row of this user is being written whose content is to be looked at. */
  added(user_id: string): void {
    setTimeout(() => {
      this.#waitingUsers.add(user_id)
      this.#startPreviews()
    }, COMMITTED_MS).unref()
  }

  /**
   * Looks at one asset, whose row is committed, before all others of its user that nobody waits for. Resolves when that is done, or after `ms`
   * milliseconds, whichever comes first: it never fails, and the look goes on.
   */
  async prioritize(asset: AssetOfUser, ms: number): Promise<void> {
    if (!this.#isOpen) return
    const seen = this.#urgent.add(asset)
    this.#startPreviews()
    const bound = Promise.withResolvers<void>()
    const timer = setTimeout(bound.resolve, ms)
    await Promise.race([seen, bound.promise])
    clearTimeout(timer)
  }

  /** What is under way is broken off, and begun anew by the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    clearInterval(this.#roundTimer ?? undefined)
    await Promise.all([...this.#running.values()].map(({ ended }) => ended))
    this.#urgent.settleAll()
  }

  get #isOpen(): boolean {
    return this.#roundTimer !== null && !this.#stopped.signal.aborted
  }

  /** Gives all users who have something left their turns. */
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
      this.#parts.log.error({ err }, 'assets to be looked at could not be found')
    }
  }

  /** Begins as many looks as there may be. */
  #startPreviews(): void {
    try {
      for (let next = this.#next(); next; next = this.#next()) this.#startPreview(next)
    } catch (err) {
      this.#parts.log.error({ err }, 'assets to be looked at could not be found')
    }
  }

  #next(): NextPreview | null {
    if (!this.#isOpen || this.#running.size >= MOST_AT_ONCE) return null
    const asset = this.#urgent.next(this.#running)
    if (asset) return { ...asset, key: null }
    const unhurried = [...this.#running.values()].filter(({ urgent }) => !urgent)
    return unhurried.length < MOST_BACKGROUND_AT_ONCE ? this.#nextOfUsers() : null
  }

  /** What the next user has to be looked at. That user's next turn comes after those of all others. */
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

  /** Looks at it. Never fails. */
  async #generate(asset: NextPreview): Promise<void> {
    try {
      await this.#generator.generate(asset.id)
    } catch (err) {
      if (asset.key !== null) this.#skippedUpTo.set(asset.user_id, asset.key)
      const busy = err instanceof NodeError && err.type === 'busy'
      if (!busy && !this.#stopped.signal.aborted) this.#parts.log.error({ err }, 'an asset could not be looked at')
    }
    this.#urgent.settle(asset)
  }
}
