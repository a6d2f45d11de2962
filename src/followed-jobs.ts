// How many jobs sockets follow, all together: each takes memory for as long as it is followed, and all of a socket are let go of when it closes.
import { ServiceError } from './errors.ts'
import { Shares } from './shares.ts'

/** Each takes about 10 kB. */
const MOST_FOLLOWED = 20_000

export class FollowedJobs {
  readonly #shares: Shares

  constructor(most = MOST_FOLLOWED) {
    this.#shares = new Shares(most)
  }

  /** @throws RATE_LIMITED where the sockets of a user follow as many as they may */
  requirePlace(owner: string): void {
    if (this.#shares.hasRoom(owner, 1)) return
    const message = 'Your sockets follow as many jobs as they may at a time: let some end, or close sockets.'
    throw new ServiceError('RATE_LIMITED', { message })
  }

  /** Counts one, whether there is a place or not, until the returned function is called. */
  count(owner: string): () => void {
    this.#shares.add(owner, 1)
    return () => this.#shares.add(owner, -1)
  }
}
