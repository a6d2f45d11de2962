// Records when tokens were last used, to the minute. Uses are collected in memory and written together a little later: no request waits for the
// write.
import { recordAccessTokenUse } from '../../db/access-tokens.ts'
import type { Catalogue } from '../../db/catalogue.ts'
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../log.ts'

const MINUTE_MS = 60_000
/** How long uses are collected before a write. */
const WRITE_AFTER_MS = 5_000

export class LastUsedTimes implements AsyncDisposable {
  readonly #catalogue: Catalogue
  readonly #log: Log
  /** Unwritten minutes since the epoch, by token. */
  #pending = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null

  constructor(catalogue: Catalogue, log: Log) {
    this.#catalogue = catalogue
    this.#log = log
  }

  /** Records a use of a token. Call this for the first use in a minute. */
  record(id: string, minute: number): void {
    this.#pending.set(id, minute)
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref()
  }

  /** The last use of a token whose row has `stored`. */
  resolve(id: string, stored: string | null): string | null {
    const pending = this.#pending.get(id)
    if (pending === undefined) return stored
    const at = formatMinute(pending)
    return stored !== null && stored > at ? stored : at
  }

  /** Writes the pending uses. A use that cannot be written is lost: it is worth no retry. */
  async write(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const uses = this.#pending
    if (uses.size === 0) return
    this.#pending = new Map()
    try {
      await this.#catalogue.write(function* () {
        for (const [id, minute] of uses) yield* recordAccessTokenUse(id, formatMinute(minute))
      })
    } catch (error) {
      // The store reports why the database cannot be written.
      if (error instanceof ServiceError) return
      this.#log.error({ err: error, tokens: uses.size }, 'the last use of tokens could not be written')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.write()
  }
}

/** The minute since the epoch that contains `now` (milliseconds). */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS)
}

function formatMinute(minute: number): string {
  return new Date(minute * MINUTE_MS).toISOString()
}
