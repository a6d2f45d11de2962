// When tokens were last used, to the minute. A use is noted in memory, and written with others a little later: no request waits for it.
import { recordAccessTokenUse } from '../../db/access-tokens.ts'
import type { Store } from '../../db/store.ts'
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'

const MINUTE_MS = 60_000
/** Uses wait so long for company. */
const WRITE_AFTER_MS = 5_000

export class LastUsedTimes implements AsyncDisposable {
  readonly #store: Store
  readonly #log: Log
  /** Minutes since the epoch that are not written yet, by token. */
  #pending = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** A token was used. Costs nothing unless it is the first use of its minute. */
  record(id: string, minute: number): void {
    this.#pending.set(id, minute)
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref()
  }

  /** The last use of a token whose row says `stored`. */
  resolve(id: string, stored: string | null): string | null {
    const pending = this.#pending.get(id)
    if (pending === undefined) return stored
    const at = formatMinute(pending)
    return stored !== null && stored > at ? stored : at
  }

  /** Writes what is not written yet. A use that cannot be written is not known afterwards: it is worth no more. */
  async write(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const uses = this.#pending
    if (uses.size === 0) return
    this.#pending = new Map()
    try {
      await this.#store.write((tx) => {
        for (const [id, minute] of uses) recordAccessTokenUse(tx, id, formatMinute(minute))
      })
    } catch (error) {
      // What keeps the database from being written is told by the store.
      if (error instanceof ServiceError) return
      this.#log.error({ err: error, tokens: uses.size }, 'the last use of tokens could not be written')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.write()
  }
}

/** The minute since the epoch in which `now` (milliseconds) lies. */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS)
}

function formatMinute(minute: number): string {
  return new Date(minute * MINUTE_MS).toISOString()
}
