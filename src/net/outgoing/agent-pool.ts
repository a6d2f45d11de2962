// The HTTP agents of users. Requests of two users never share a connection. A server may leave the body of a request unread. The rest of
// the body would then begin the next request, and send that request's secrets wherever the first user wants.
import type { Agent } from 'undici'

/** How long an idle agent is kept, in milliseconds. The library keeps most idle connections for the same time. */
const IDLE_AGENT_MS = 4_000

interface PooledAgent {
  readonly agent: Promise<Agent>
  readonly abortController: AbortController
  /** The number of requests under way. */
  activeRequests: number
  timer: NodeJS.Timeout | undefined
}

export class OwnerAgentPool implements AsyncDisposable {
  readonly #createAgent: (end: AbortSignal) => Promise<Agent>
  readonly #idle_ms: number
  readonly #agents = new Map<string, PooledAgent>()

  /** `make` creates an agent that gives up pending connections when its signal aborts. */
  constructor(make: (end: AbortSignal) => Promise<Agent>, kept_ms = IDLE_AGENT_MS) {
    this.#createAgent = make
    this.#idle_ms = kept_ms
  }

  /** The number of agents. */
  get size(): number {
    return this.#agents.size
  }

  /** Returns the owner's agent, and a function that ends the request. The caller calls the function once. */
  take(owner: string): { readonly agent: Promise<Agent>; release(): void } {
    const kept = this.#agents.get(owner) ?? this.#addAgent(owner)
    clearTimeout(kept.timer)
    kept.activeRequests++
    return { agent: kept.agent, release: () => this.#releaseAgent(owner, kept) }
  }

  #addAgent(owner: string): PooledAgent {
    const end = new AbortController()
    const kept: PooledAgent = {
      agent: this.#createAgent(end.signal),
      abortController: end,
      activeRequests: 0,
      timer: undefined,
    }
    kept.agent.catch(() => this.#removeAgent(owner, kept))
    this.#agents.set(owner, kept)
    return kept
  }

  #releaseAgent(owner: string, kept: PooledAgent): void {
    if (--kept.activeRequests > 0 || this.#agents.get(owner) !== kept) return
    const leave = () => {
      this.#removeAgent(owner, kept)
      void destroyAgent(kept)
    }
    kept.timer = setTimeout(leave, this.#idle_ms).unref()
  }

  #removeAgent(owner: string, kept: PooledAgent): void {
    if (this.#agents.get(owner) === kept) this.#agents.delete(owner)
  }

  /** Closes the connections of all owners without a request under way. */
  async closeIdleAgents(): Promise<void> {
    const unused = [...this.#agents].filter(([, { activeRequests }]) => activeRequests === 0)
    for (const [owner, kept] of unused) this.#removeAgent(owner, kept)
    await Promise.all(unused.map(([, kept]) => destroyAgent(kept)))
  }

  /** Ends all requests under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#agents.values()]
    this.#agents.clear()
    await Promise.all(all.map(destroyAgent))
  }
}

async function destroyAgent({ agent, abortController, timer }: PooledAgent): Promise<void> {
  clearTimeout(timer)
  abortController.abort(new Error('Outgoing HTTP is closed'))
  await (await agent.catch(() => null))?.destroy()
}
