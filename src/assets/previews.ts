// Looks at the content of assets, one after the other, in the background: what there is to say of it, and a small picture. What hostile content
// does happens to a process of its own (src/media). Which assets are left is known by their rows, so that a restart goes on.
import { passOver, type Unseen, unseenAssets } from '../db/previews.ts'
import type { Tx } from '../db/store.ts'
import type { Log } from '../log.ts'
import { Looking, type LookingParts } from './looking.ts'
import { lookAt } from './looks.ts'

export interface PreviewParts extends LookingParts {
  readonly log: Log
}

/** How many assets the next ones are chosen from. */
const BATCH = 100
/** So long after a row was written in a transaction, the transaction has ended. */
const COMMITTED_MS = 100
/** How often it is looked whether something was left: by a fault, or by a commit that took long. */
const INTERVAL_MS = 30_000

export class Previews implements AsyncDisposable {
  readonly #parts: PreviewParts
  readonly #looking: Looking
  readonly #stopped = new AbortController()
  /** Ids of assets that somebody waits for, in the order in which they are looked at. */
  readonly #urgent = new Map<string, PromiseWithResolvers<void>>()
  #interval: NodeJS.Timeout | null = null
  #soon: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  /** Something may have come while it worked. */
  #again = false
  /** What lies up to this key was given up for now. */
  #after = 0

  constructor(parts: PreviewParts) {
    this.#parts = parts
    this.#looking = new Looking(parts, this.#stopped.signal)
  }

  /** Begins to look at what there is, and looks at what comes from now on. */
  start(): void {
    this.#interval = setInterval(() => this.#wake(), INTERVAL_MS)
    this.#interval.unref()
    this.#wake()
  }

  /** Is told that a row is being written whose content is to be looked at. */
  added(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = null
      this.#wake()
    }, COMMITTED_MS).unref()
  }

  /**
   * Looks at one asset, whose row is committed, before all others that nobody waits for. Resolves when that is done, or after `ms` milliseconds,
   * whichever comes first: it never fails, and the look goes on.
   */
  async soon(asset_id: string, ms: number): Promise<void> {
    if (!this.#interval || this.#stopped.signal.aborted) return
    const seen = this.#urgent.get(asset_id) ?? Promise.withResolvers<void>()
    this.#urgent.set(asset_id, seen)
    this.#wake()
    const bound = Promise.withResolvers<void>()
    const timer = setTimeout(bound.resolve, ms)
    await Promise.race([seen.promise, bound.promise])
    clearTimeout(timer)
  }

  /** What is under way is broken off, and begun anew by the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort()
    clearInterval(this.#interval ?? undefined)
    clearTimeout(this.#soon ?? undefined)
    await this.#running
    for (const { resolve } of this.#urgent.values()) resolve()
    this.#urgent.clear()
  }

  #wake(): void {
    if (!this.#interval || this.#stopped.signal.aborted) return
    this.#again = true
    this.#running ??= this.#work()
  }

  async #work(): Promise<void> {
    while ((this.#again || this.#urgent.size > 0) && !this.#stopped.signal.aborted) {
      this.#again = false
      await this.#pass().catch((err) => {
        // The database, or the folder of the store: the next round begins behind the asset that met with it.
        if (!this.#stopped.signal.aborted) this.#parts.log.error({ err }, 'an asset could not be looked at')
      })
    }
    // In one step with the last look whether something came.
    this.#running = null
  }

  /** Looks at all that there is. */
  async #pass(): Promise<void> {
    const { store } = this.#parts
    for (;;) {
      await this.#serveUrgent()
      if (this.#stopped.signal.aborted) return
      const rows = store.read((tx) => unseenAssets(tx, this.#after, BATCH))
      const blank = rows.filter((row) => lookAt(row) === null)
      if (blank.length > 0) await store.write((tx) => passAll(tx, blank))
      for (const row of rows) {
        if (lookAt(row) === null) continue
        await this.#serveUrgent()
        if (this.#stopped.signal.aborted) return
        this.#after = row.key
        await this.#looking.see(row.id)
      }
      if (rows.length < BATCH) break
    }
    this.#after = 0
  }

  async #serveUrgent(): Promise<void> {
    for (const [id, { resolve }] of this.#urgent) {
      if (this.#stopped.signal.aborted) return
      try {
        await this.#looking.see(id)
      } finally {
        this.#urgent.delete(id)
        resolve()
      }
    }
  }
}

function passAll(tx: Tx, rows: readonly Unseen[]): void {
  for (const { id } of rows) passOver(tx, id)
}
