// Limits how many jobs or threads all sockets follow together: each takes memory until it is no longer followed, or its socket closes.
import { ServiceError } from './errors.ts'
import { FairShareLimit } from './shared/fair-share.ts'

/** A followed job takes about 10 kB. */
export const MAX_FOLLOWED_JOBS = 20_000
/** A followed thread takes less than 1 kB. */
export const MAX_FOLLOWED_THREADS = 100_000

export class FollowQuota {
  readonly #shares: FairShareLimit
  readonly #what: 'jobs' | 'threads'

  constructor(what: 'jobs' | 'threads', most: number) {
    this.#what = what
    this.#shares = new FairShareLimit(most)
  }

  /** @throws RATE_LIMITED where the sockets of a user follow the maximum */
  requireCapacity(owner: string): void {
    if (this.#shares.hasRoom(owner, 1)) return
    const message = `Your sockets follow the maximum number of ${this.#what}: wait until some have ended, or close sockets.`
    throw new ServiceError('RATE_LIMITED', { message })
  }

  /** Counts one followed job or thread, even beyond the limit, until the returned function is called. */
  count(owner: string): () => void {
    this.#shares.add(owner, 1)
    return () => this.#shares.add(owner, -1)
  }
}
