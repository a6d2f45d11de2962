// Shares the connections to an origin among users, so that the slow requests of one user do not block those of others.
import type { Socket } from 'node:net'
import { FairSemaphore } from '../../workers/fair-semaphore.ts'

/** The most connections to one origin, over all users. */
export const MAX_CONNECTIONS_PER_ORIGIN = 128
/** The most connections of one user to one origin, even where no other user needs one. */
const MAX_CONNECTIONS_PER_OWNER = 32

/** Each request takes a permit, and returns it when its answer has been read or given up. Unused origins are forgotten. */
export class OriginConnectionQuota {
  readonly #slotsByOrigin = new Map<string, FairSemaphore>()
  /** The number of open connections by origin, including idle ones. */
  readonly #openConnections = new Map<string, number>()

  /** Counts a connection until it closes. */
  countConnection(origin: string, socket: Socket): void {
    this.#openConnections.set(origin, this.#countOpen(origin) + 1)
    socket.once('close', () => {
      const left = this.#countOpen(origin) - 1
      if (left > 0) this.#openConnections.set(origin, left)
      else this.#openConnections.delete(origin)
    })
  }

  /** Whether the origin has as many connections as it may. An idle connection of one user then blocks others. */
  isFull(origin: string): boolean {
    return this.#countOpen(origin) >= MAX_CONNECTIONS_PER_ORIGIN
  }

  #countOpen(origin: string): number {
    return this.#openConnections.get(origin) ?? 0
  }

  /**
   * Resolves when it is the owner's turn, with a function that returns the permit. The caller calls it once. @throws the signal's reason
   */
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
