// The timestamps of one job. None is earlier than the one before, even where the system clock was set back.
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Platform } from '../../platform.ts'

export class JobTimestamps {
  readonly #platform: Pick<Platform, 'timestamp'>
  #last: string

  constructor({ created_at, updated_at }: JobTable, platform: Pick<Platform, 'timestamp'>) {
    this.#platform = platform
    this.#last = updated_at > created_at ? updated_at : created_at
  }

  /** The last timestamp given out. */
  get last(): string {
    return this.#last
  }

  next(): string {
    const now = this.#platform.timestamp()
    if (now > this.#last) this.#last = now
    return this.#last
  }
}
