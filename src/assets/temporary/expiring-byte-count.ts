// ExpiringByteCount counts bytes by the minute at which they expire. So a day is a short list, however many files there are.

const MINUTE_MS = 60_000

export class ExpiringByteCount {
  /** Bytes by the minute, counted since the epoch, at whose beginning they expire. */
  readonly #minutes = new Map<number, number>()
  #bytes = 0
  #next = Number.POSITIVE_INFINITY

  /** `expires_at` in milliseconds since the epoch. */
  add(bytes: number, expires_at: number): void {
    const minute = Math.ceil(expires_at / MINUTE_MS)
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + bytes)
    this.#bytes += bytes
    this.#next = Math.min(this.#next, minute)
  }

  /** Removes bytes that were added with the same expiry, as far as they are left; returns how many were removed. */
  remove(bytes: number, expires_at: number): number {
    const minute = Math.ceil(expires_at / MINUTE_MS)
    const kept = this.#minutes.get(minute) ?? 0
    const removed = Math.min(kept, bytes)
    this.#bytes -= removed
    if (removed < kept) this.#minutes.set(minute, kept - removed)
    else this.#drop(minute)
    return removed
  }

  /** Returns the bytes that have not expired at `now`, in milliseconds since the epoch. */
  bytes(now: number): number {
    for (const minute of this.#next * MINUTE_MS <= now ? [...this.#minutes.keys()] : []) {
      if (minute * MINUTE_MS > now) continue
      this.#bytes -= this.#minutes.get(minute)!
      this.#drop(minute)
    }
    return this.#bytes
  }

  /** When the next bytes expire, in milliseconds since the epoch; Infinity if there are none. */
  get next_at(): number {
    return this.#next * MINUTE_MS
  }

  #drop(minute: number): void {
    this.#minutes.delete(minute)
    if (minute <= this.#next) this.#next = Math.min(...this.#minutes.keys())
  }
}
