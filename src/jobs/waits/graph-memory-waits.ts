// Due jobs for whose large graphs there was no room: how large they are, so that none of them is compiled again before there is.

/** Milliseconds. A job that nobody asked for that long is not due any more. */
const STALE_MS = 90_000

interface GraphMemoryWait {
  readonly graph_bytes: number
  asked_at: number
}

export class GraphMemoryWaits {
  readonly #waits = new Map<number, GraphMemoryWait>()

  /** There was no room for the graph of a job at `now`, in milliseconds. */
  addRefusal(job_key: number, graph_bytes: number, now: number): void {
    this.#waits.set(job_key, { graph_bytes, asked_at: now })
  }

  /** How large the graph is of a job that was refused, in bytes; null of others. */
  bytesOf(job_key: number, now: number): number | null {
    const wait = this.#waits.get(job_key)
    if (!wait) return null
    wait.asked_at = now
    return wait.graph_bytes
  }

  remove(job_key: number): void {
    this.#waits.delete(job_key)
  }

  /** Forgets those that have not been asked for. */
  removeStale(now: number): void {
    for (const [key, { asked_at }] of this.#waits) if (asked_at + STALE_MS < now) this.#waits.delete(key)
  }
}
