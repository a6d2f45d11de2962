// Sizes of the graphs of due jobs that found no room, so that no graph is compiled again before there is room.

/** Milliseconds. A job that was not requested for so long is not due any more. */
const STALE_MS = 90_000

interface GraphMemoryWait {
  readonly graph_bytes: number
  asked_at: number
}

export class GraphMemoryWaits {
  readonly #waits = new Map<number, GraphMemoryWait>()

  /** Records that there was no room for the graph of a job at `now`, in milliseconds. */
  addRefusal(job_key: number, graph_bytes: number, now: number): void {
    this.#waits.set(job_key, { graph_bytes, asked_at: now })
  }

  /** The size of a refused graph in bytes; null for other jobs. */
  bytesOf(job_key: number, now: number): number | null {
    const wait = this.#waits.get(job_key)
    if (!wait) return null
    wait.asked_at = now
    return wait.graph_bytes
  }

  remove(job_key: number): void {
    this.#waits.delete(job_key)
  }

  /** Removes jobs that were not requested for `STALE_MS`. */
  removeStale(now: number): void {
    for (const [key, { asked_at }] of this.#waits) if (asked_at + STALE_MS < now) this.#waits.delete(key)
  }
}
