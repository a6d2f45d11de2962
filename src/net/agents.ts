// The agents of users. Nobody's request goes on a connection that another user's went on before: where a server does not read the body of a
// request, what is left of it would begin the next one, whose head, with its secrets, would end up wherever the first user wants.
import type { Agent } from 'undici'

/** How long an agent is kept that nobody uses, in milliseconds: as long as the library keeps most connections that wait for a request. */
const KEPT_MS = 4_000

interface Kept {
  readonly agent: Promise<Agent>
  readonly end: AbortController
  /** Requests under way. */
  users: number
  timer: NodeJS.Timeout | undefined
}

export class Agents implements AsyncDisposable {
  readonly #make: (end: AbortSignal) => Promise<Agent>
  readonly #kept_ms: number
  readonly #kept = new Map<string, Kept>()

  /** `make` makes one that gives up what is about to connect when its signal aborts. */
  constructor(make: (end: AbortSignal) => Promise<Agent>, kept_ms = KEPT_MS) {
    this.#make = make
    this.#kept_ms = kept_ms
  }

  /** How many there are. */
  get size(): number {
    return this.#kept.size
  }

  /** The owner's, and what tells that a request is over, to be called once. */
  take(owner: string): { readonly agent: Promise<Agent>; release(): void } {
    const kept = this.#kept.get(owner) ?? this.#begin(owner)
    clearTimeout(kept.timer)
    kept.users++
    return { agent: kept.agent, release: () => this.#release(owner, kept) }
  }

  #begin(owner: string): Kept {
    const end = new AbortController()
    const kept: Kept = { agent: this.#make(end.signal), end, users: 0, timer: undefined }
    kept.agent.catch(() => this.#forget(owner, kept))
    this.#kept.set(owner, kept)
    return kept
  }

  #release(owner: string, kept: Kept): void {
    if (--kept.users > 0 || this.#kept.get(owner) !== kept) return
    const leave = () => {
      this.#forget(owner, kept)
      void ended(kept)
    }
    kept.timer = setTimeout(leave, this.#kept_ms).unref()
  }

  #forget(owner: string, kept: Kept): void {
    if (this.#kept.get(owner) === kept) this.#kept.delete(owner)
  }

  /** Closes the connections of all who have no request under way. */
  async endUnused(): Promise<void> {
    const unused = [...this.#kept].filter(([, { users }]) => users === 0)
    for (const [owner, kept] of unused) this.#forget(owner, kept)
    await Promise.all(unused.map(([, kept]) => ended(kept)))
  }

  /** Ends what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#kept.values()]
    this.#kept.clear()
    await Promise.all(all.map(ended))
  }
}

async function ended({ agent, end, timer }: Kept): Promise<void> {
  clearTimeout(timer)
  end.abort(new Error('Outgoing HTTP is closed'))
  await (await agent.catch(() => null))?.destroy()
}
