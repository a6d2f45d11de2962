// Limits the number and memory of held streams, which keep their workers while they run nothing. Limits per owner
// leave room for others.

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

  /** `streams` may be held beside `workers` that run at the same time. */
  constructor(streams: number, workers: number) {
    // Reserves memory for running workers, including the one extra.
    const megabytes = Math.max(LARGEST_MEMORY_LIMIT_MB, MAX_TOTAL_MEMORY_MB - (workers + 1) * LARGEST_MEMORY_LIMIT_MB)
    this.#limit = { streams, megabytes }
    this.#ownerLimit = {
      streams: MAX_HELD_STREAMS_BY_OWNER,
      megabytes: Math.max(LARGEST_MEMORY_LIMIT_MB, (megabytes * 3) / 4),
    }
  }

  /** False if there is no room for another stream. */
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
