// Streams that keep their workers while they run nothing: how many there are and how much memory they may have, in all and
// for one owner, so that one owner leaves room for the others.

import type { OwnerKey } from '../workers/fair-semaphore.ts'
import { LARGEST_MEMORY_LIMIT_MB, MAX_HELD_STREAMS_BY_OWNER, MAX_TOTAL_MEMORY_MB } from './limits.ts'

interface HeldStreams {
  streams: number
  megabytes: number
}

export class StreamQuota {
  readonly #limit: HeldStreams
  readonly #ownerLimit: HeldStreams
  readonly #total: HeldStreams = { streams: 0, megabytes: 0 }
  readonly #owners = new Map<OwnerKey, HeldStreams>()

  /** For so many streams, beside so many workers that run at the same time. */
  constructor(streams: number, workers: number) {
    // What runs, and the one more that may, leave the rest of the memory.
    const megabytes = Math.max(LARGEST_MEMORY_LIMIT_MB, MAX_TOTAL_MEMORY_MB - (workers + 1) * LARGEST_MEMORY_LIMIT_MB)
    this.#limit = { streams, megabytes }
    this.#ownerLimit = {
      streams: MAX_HELD_STREAMS_BY_OWNER,
      megabytes: Math.max(LARGEST_MEMORY_LIMIT_MB, (megabytes * 3) / 4),
    }
  }

  /** False where there is no room for one more. */
  reserve(owner: OwnerKey, megabytes: number): boolean {
    const own = this.#owners.get(owner) ?? { streams: 0, megabytes: 0 }
    if (!hasRoom(this.#total, megabytes, this.#limit) || !hasRoom(own, megabytes, this.#ownerLimit)) return false
    this.#owners.set(owner, own)
    for (const held of [this.#total, own]) {
      held.streams++
      held.megabytes += megabytes
    }
    return true
  }

  release(owner: OwnerKey, megabytes: number): void {
    const own = this.#owners.get(owner)!
    for (const held of [this.#total, own]) {
      held.streams--
      held.megabytes -= megabytes
    }
    if (own.streams === 0) this.#owners.delete(owner)
  }
}

function hasRoom(held: HeldStreams, megabytes: number, most: HeldStreams): boolean {
  return held.streams < most.streams && held.megabytes + megabytes <= most.megabytes
}
