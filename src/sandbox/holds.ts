// Streams that keep their workers while they run nothing: how many there are and how much memory they may have, in all and
// for one owner, so that one owner leaves room for the others.

import type { Owner } from '../workers/places.ts'
import { HELD_BY_OWNER, LARGEST_MEMORY_LIMIT_MB, MOST_MEMORY_MB } from './limits.ts'

interface Held {
  streams: number
  megabytes: number
}

export class Holds {
  readonly #most: Held
  readonly #mostByOwner: Held
  readonly #all: Held = { streams: 0, megabytes: 0 }
  readonly #owners = new Map<Owner, Held>()

  /** For so many streams, beside so many workers that run at the same time. */
  constructor(streams: number, workers: number) {
    // What runs, and the one more that may, leave the rest of the memory.
    const megabytes = Math.max(LARGEST_MEMORY_LIMIT_MB, MOST_MEMORY_MB - (workers + 1) * LARGEST_MEMORY_LIMIT_MB)
    this.#most = { streams, megabytes }
    this.#mostByOwner = { streams: HELD_BY_OWNER, megabytes: Math.max(LARGEST_MEMORY_LIMIT_MB, (megabytes * 3) / 4) }
  }

  /** False where there is no room for one more. */
  add(owner: Owner, megabytes: number): boolean {
    const own = this.#owners.get(owner) ?? { streams: 0, megabytes: 0 }
    if (!fits(this.#all, megabytes, this.#most) || !fits(own, megabytes, this.#mostByOwner)) return false
    this.#owners.set(owner, own)
    for (const held of [this.#all, own]) {
      held.streams++
      held.megabytes += megabytes
    }
    return true
  }

  remove(owner: Owner, megabytes: number): void {
    const own = this.#owners.get(owner)!
    for (const held of [this.#all, own]) {
      held.streams--
      held.megabytes -= megabytes
    }
    if (own.streams === 0) this.#owners.delete(owner)
  }
}

function fits(held: Held, megabytes: number, most: Held): boolean {
  return held.streams < most.streams && held.megabytes + megabytes <= most.megabytes
}
