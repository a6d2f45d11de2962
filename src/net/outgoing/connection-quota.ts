// Who may have a connection to an origin: users share how many there are, so that nobody's request waits behind all the slow ones of another.
import type { Socket } from 'node:net'
import { FairSemaphore } from '../../workers/fair-semaphore.ts'

/** To one origin, of all users together. */
export const MAX_CONNECTIONS_PER_ORIGIN = 128
/** Of them, one user's, also where nobody else asks. */
const MAX_CONNECTIONS_PER_OWNER = 32

/** One is taken for each request, and given back when its answer has been read or given up. Origins that nobody asks are forgotten. */
export class OriginConnectionQuota {
  readonly #slotsByOrigin = new Map<string, FairSemaphore>()
  /** How many are open, by origin: those included that are kept for the next request. */
  readonly #openConnections = new Map<string, number>()

  /** Counts one until it closes. */
  countConnection(origin: string, socket: Socket): void {
    this.#openConnections.set(origin, this.#countOpen(origin) + 1)
    socket.once('close', () => {
      const left = this.#countOpen(origin) - 1
      if (left > 0) this.#openConnections.set(origin, left)
      else this.#openConnections.delete(origin)
    })
  }

  /** Whether as many are open as there may be: one that is kept for a user is in the way of others. */
  isFull(origin: string): boolean {
    return this.#countOpen(origin) >= MAX_CONNECTIONS_PER_ORIGIN
  }

  #countOpen(origin: string): number {
    return this.#openConnections.get(origin) ?? 0
  }

  /** Resolves when it is the owner's turn, with what gives it back, to be called once. @throws the signal's reason */
  async take(origin: string, owner: string, signal: AbortSignal): Promise<() => void> {
    const places =
      this.#slotsByOrigin.get(origin) ?? new FairSemaphore(MAX_CONNECTIONS_PER_ORIGIN, MAX_CONNECTIONS_PER_OWNER)
    this.#slotsByOrigin.set(origin, places)
    if (!places.tryAcquire(owner)) await places.acquire(owner, signal)
    return () => {
      places.release(owner)
      if (places.isIdle) this.#slotsByOrigin.delete(origin)
    }
  }
}
