// Credentials of those who stay: whoever keeps a socket or a stream open is asked about again, as long as it is open.
// What the door does when a credential is no longer good is its own business.
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { RequestFacts } from './facts.ts'
import type { Gate } from './gate.ts'
import type { Principal } from './principal.ts'
import type { Verdict } from './verdict.ts'

/** How often each credential is looked at again. */
export const RECHECK_MS = 60_000
/** Over so many moments of an interval the credentials are spread: thousands of them are not looked at in one turn of the event loop. */
const MOST_SLOTS = 240
/** The shortest time between two of them. */
const SHORTEST_TICK_MS = 10

interface Watcher {
  /** The credential is still good; this is what it is good for now. */
  renewed?(principal: Principal): void
  /** It is no longer good, or stands for somebody else. It is not looked at any more. */
  ended(): void
}

interface Watch {
  readonly facts: RequestFacts
  readonly watcher: Watcher
  readonly slot: Set<Watch>
  principal: Principal
  /** While the identity provider is being asked. */
  asking: boolean
}

export class Rechecks {
  readonly #gate: Gate
  readonly #platform: Platform
  readonly #log: Log
  readonly #tick_ms: number
  readonly #slots: readonly Set<Watch>[]
  #size = 0
  #filled = 0
  #turn = 0
  #timer: NodeJS.Timeout | null = null

  /** `interval_ms`: how often each credential is looked at. */
  constructor(gate: Gate, { platform, log }: { platform: Platform; log: Log }, interval_ms = RECHECK_MS) {
    this.#gate = gate
    this.#platform = platform
    this.#log = log
    const slots = Math.max(1, Math.min(MOST_SLOTS, Math.floor(interval_ms / SHORTEST_TICK_MS)))
    this.#slots = Array.from({ length: slots }, () => new Set<Watch>())
    this.#tick_ms = interval_ms / slots
  }

  /** How many credentials are watched. */
  get size(): number {
    return this.#size
  }

  /**
   * Looks at a credential once in every interval, until it has ended or the returned function is called. Whoever was let in for the place that
   * the call came from has none: nothing of that changes.
   */
  watch(facts: RequestFacts, principal: Principal, watcher: Watcher): () => void {
    if (principal.trusted_as === 'loopback' || principal.trusted_as === 'trusted_network') return () => {}
    const slot = this.#slots[this.#filled++ % this.#slots.length]!
    const watch: Watch = { facts, watcher, slot, principal, asking: false }
    slot.add(watch)
    this.#size++
    this.#timer ??= setInterval(() => this.#look(), this.#tick_ms).unref()
    return () => this.#forget(watch)
  }

  #forget(watch: Watch): void {
    if (!watch.slot.delete(watch)) return
    this.#size--
    if (this.#size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #look(): void {
    for (const watch of this.#slots[this.#turn++ % this.#slots.length]!) {
      if (watch.asking) this.#keepUntilExpiry(watch)
      else void this.#ask(watch)
    }
  }

  async #ask(watch: Watch): Promise<void> {
    watch.asking = true
    try {
      const verdict = await this.#gate(watch.facts)
      // Whoever has gone meanwhile is told nothing.
      if (watch.slot.has(watch)) this.#judge(watch, verdict)
    } catch (error) {
      this.#log.error({ err: error }, 'a credential could not be looked at again')
      this.#keepUntilExpiry(watch)
    } finally {
      watch.asking = false
    }
  }

  #judge(watch: Watch, { principal, refusal }: Verdict): void {
    if (refusal?.kind === 'unavailable') return this.#keepUntilExpiry(watch)
    if (!principal || !isSameCredential(principal, watch.principal)) return this.#end(watch)
    watch.principal = principal
    watch.watcher.renewed?.(principal)
  }

  /** Nobody can tell now. That is no revocation; but what has expired has ended. */
  #keepUntilExpiry(watch: Watch): void {
    const { expires_at } = watch.principal
    if (expires_at !== null && expires_at <= this.#platform.now()) this.#end(watch)
  }

  #end(watch: Watch): void {
    this.#forget(watch)
    watch.watcher.ended()
  }
}

/** Whether it is the same caller, for the same reason: without its token one may still be trusted for the place that it calls from. */
function isSameCredential(now: Principal, before: Principal): boolean {
  const same: readonly (keyof Principal)[] = ['user_id', 'workspace_id', 'trusted_as', 'token_id', 'app_id']
  return same.every((key) => now[key] === before[key])
}
