// Who may have a connection to an origin: users share how many there are, so that nobody's request waits behind all the slow ones of another.
import type { Socket } from 'node:net'
import { Places } from '../workers/places.ts'

/** To one origin, of all users together. */
export const MOST_CONNECTIONS = 128
/** Of them, one user's, also where nobody else asks. */
const MOST_OF_ONE = 32

/** One is taken for each request, and given back when its answer has been read or given up. Origins that nobody asks are forgotten. */
export class Connections {
  readonly #places = new Map<string, Places>()
  /** How many are open, by origin: those included that are kept for the next request. */
  readonly #open = new Map<string, number>()

  /** Counts one until it closes. */
  opened(origin: string, socket: Socket): void {
    this.#open.set(origin, this.#openTo(origin) + 1)
    socket.once('close', () => {
      const left = this.#openTo(origin) - 1
      if (left > 0) this.#open.set(origin, left)
      else this.#open.delete(origin)
    })
  }

  /** Whether as many are open as there may be: one that is kept for a user is in the way of others. */
  isFull(origin: string): boolean {
    return this.#openTo(origin) >= MOST_CONNECTIONS
  }

  #openTo(origin: string): number {
    return this.#open.get(origin) ?? 0
  }

  /** Resolves when it is the owner's turn, with what gives it back, to be called once. @throws the signal's reason */
  async take(origin: string, owner: string, signal: AbortSignal): Promise<() => void> {
    const places = this.#places.get(origin) ?? new Places(MOST_CONNECTIONS, MOST_OF_ONE)
    this.#places.set(origin, places)
    if (!places.entersNow(owner)) await places.turn(owner, signal)
    return () => {
      places.giveBack(owner)
      if (places.isIdle) this.#places.delete(origin)
    }
  }
}
