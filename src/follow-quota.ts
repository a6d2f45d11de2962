// How much sockets follow, all together: it takes memory for as long as it is followed, and all of a socket is let go of when it closes.
import { ServiceError } from './errors.ts'
import { FairShareLimit } from './shared/fair-share.ts'

/** Each takes about 10 kB. */
export const MAX_FOLLOWED_JOBS = 20_000
/** Each takes less than 1 kB. */
export const MAX_FOLLOWED_THREADS = 100_000

export class FollowQuota {
  readonly #shares: FairShareLimit
  readonly #what: 'jobs' | 'threads'

  constructor(what: 'jobs' | 'threads', most: number) {
    this.#what = what
    this.#shares = new FairShareLimit(most)
  }

  /** @throws RATE_LIMITED where the sockets of a user follow as many as they may */
  requireCapacity(owner: string): void {
    if (this.#shares.hasRoom(owner, 1)) return
    const message = `Your sockets follow as many ${this.#what} as they may at a time: let some end, or close sockets.`
    throw new ServiceError('RATE_LIMITED', { message })
  }

  /** Counts one, whether there is a place or not, until the returned function is called. */
  count(owner: string): () => void {
    this.#shares.add(owner, 1)
    return () => this.#shares.add(owner, -1)
  }
}
