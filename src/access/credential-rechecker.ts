// Credentials of those who stay: whoever keeps a socket or a stream open is asked about again, as long as it is open.
// What the door does when a credential is no longer good is its own business.
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { AuthVerdict } from './auth-verdict.ts'
import type { Authenticator } from './authenticator.ts'
import type { Principal } from './principal.ts'
import type { RequestFacts } from './request-facts.ts'

/** How often each credential is looked at again. */
export const RECHECK_INTERVAL_MS = 60_000
/** Over so many moments of an interval the credentials are spread: thousands of them are not looked at in one turn of the event loop. */
const MAX_SLOTS = 240
/** The shortest time between two of them. */
const MIN_TICK_MS = 10

interface CredentialWatcher {
  /** The credential is still good; this is what it is good for now. */
  onRenewed?(principal: Principal): void
  /** It is no longer good, or stands for somebody else. It is not looked at any more. */
  onEnded(): void
}

interface WatchedCredential {
  readonly facts: RequestFacts
  readonly watcher: CredentialWatcher
  readonly slot: Set<WatchedCredential>
  principal: Principal
  /** While the identity provider is being asked. */
  isRechecking: boolean
}

export class CredentialRechecker {
  readonly #authenticator: Authenticator
  readonly #platform: Platform
  readonly #log: Log
  readonly #tick_ms: number
  readonly #slots: readonly Set<WatchedCredential>[]
  #size = 0
  #addedCount = 0
  #slotIndex = 0
  #timer: NodeJS.Timeout | null = null

  /** `interval_ms`: how often each credential is looked at. */
  constructor(
    authenticator: Authenticator,
    { platform, log }: { platform: Platform; log: Log },
    interval_ms = RECHECK_INTERVAL_MS,
  ) {
    this.#authenticator = authenticator
    this.#platform = platform
    this.#log = log
    const slots = Math.max(1, Math.min(MAX_SLOTS, Math.floor(interval_ms / MIN_TICK_MS)))
    this.#slots = Array.from({ length: slots }, () => new Set<WatchedCredential>())
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
  watch(facts: RequestFacts, principal: Principal, watcher: CredentialWatcher): () => void {
    if (principal.trusted_as === 'loopback' || principal.trusted_as === 'trusted_network') return () => {}
    const slot = this.#slots[this.#addedCount++ % this.#slots.length]!
    const watch: WatchedCredential = { facts, watcher, slot, principal, isRechecking: false }
    slot.add(watch)
    this.#size++
    this.#timer ??= setInterval(() => this.#recheckSlot(), this.#tick_ms).unref()
    return () => this.#forget(watch)
  }

  #forget(watch: WatchedCredential): void {
    if (!watch.slot.delete(watch)) return
    this.#size--
    if (this.#size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #recheckSlot(): void {
    for (const watch of this.#slots[this.#slotIndex++ % this.#slots.length]!) {
      if (watch.isRechecking) this.#keepUntilExpiry(watch)
      else void this.#recheck(watch)
    }
  }

  async #recheck(watch: WatchedCredential): Promise<void> {
    watch.isRechecking = true
    try {
      const verdict = await this.#authenticator(watch.facts)
      // Whoever has gone meanwhile is told nothing.
      if (watch.slot.has(watch)) this.#applyVerdict(watch, verdict)
    } catch (error) {
      this.#log.error({ err: error }, 'a credential could not be looked at again')
      this.#keepUntilExpiry(watch)
    } finally {
      watch.isRechecking = false
    }
  }

  #applyVerdict(watch: WatchedCredential, { principal, refusal }: AuthVerdict): void {
    if (refusal?.kind === 'unavailable') return this.#keepUntilExpiry(watch)
    if (!principal || !isSameCredential(principal, watch.principal)) return this.#end(watch)
    watch.principal = principal
    watch.watcher.onRenewed?.(principal)
  }

  /** Nobody can tell now. That is no revocation; but what has expired has ended. */
  #keepUntilExpiry(watch: WatchedCredential): void {
    const { expires_at } = watch.principal
    if (expires_at !== null && expires_at <= this.#platform.now()) this.#end(watch)
  }

  #end(watch: WatchedCredential): void {
    this.#forget(watch)
    watch.watcher.onEnded()
  }
}

/** Whether it is the same caller, for the same reason: without its token one may still be trusted for the place that it calls from. */
function isSameCredential(now: Principal, before: Principal): boolean {
  const same: readonly (keyof Principal)[] = ['user_id', 'workspace_id', 'trusted_as', 'token_id', 'app_id']
  return same.every((key) => now[key] === before[key])
}
