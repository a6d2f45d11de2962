// What a vendor wants to hear again together with a call of a tool, such as what the model thought before it, and what OpenAI's form has no
// place for: kept for a while by the id of the call, since it comes back with the results. Without it the conversation goes on as well.

/** In characters, of all that is kept. */
const MOST = 16_000_000

export class CallMemory<Kept> {
  readonly #kept = new Map<string, { readonly what: Kept; readonly size: number }>()
  readonly #most: number
  #size = 0

  constructor(most = MOST) {
    this.#most = most
  }

  keep(id: string, what: Kept): void {
    this.#drop(id)
    const size = id.length + JSON.stringify(what).length
    if (size > this.#most) return
    this.#kept.set(id, { what, size })
    this.#size += size
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#most) return
      this.#drop(oldest)
    }
  }

  of(id: string): Kept | null {
    return this.#kept.get(id)?.what ?? null
  }

  #drop(id: string): void {
    this.#size -= this.#kept.get(id)?.size ?? 0
    this.#kept.delete(id)
  }
}
