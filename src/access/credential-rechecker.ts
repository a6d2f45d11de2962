// Rechecks the credential of a socket or stream as long as it is open. The transport decides what happens when a credential ends.
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { AuthVerdict } from './auth-verdict.ts'
import type { Authenticator } from './authenticator.ts'
import type { Principal } from './principal.ts'
import type { RequestFacts } from './request-facts.ts'

/** Time between two rechecks of a credential. */
export const RECHECK_INTERVAL_MS = 60_000
/** Rechecks are spread over this many ticks of an interval: thousands in one turn of the event loop would block it. */
const MAX_SLOTS = 240
/** The shortest tick. */
const MIN_TICK_MS = 10

interface CredentialWatcher {
  /** The credential is still valid; `principal` is what it allows now. */
  onRenewed?(principal: Principal): void
  /** The credential is no longer valid, or has another principal. It is not checked any more. */
  onEnded(): void
}

interface WatchedCredential {
  readonly facts: RequestFacts
  readonly watcher: CredentialWatcher
  readonly slot: Set<WatchedCredential>
  principal: Principal
  /** True while the identity provider is asked. */
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

  /** `interval_ms` is the time between two rechecks of a credential. */
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

  /** The number of watched credentials. */
  get size(): number {
    return this.#size
  }

  /**
   * Rechecks a credential once per interval, until it has ended or the returned function is called. Callers that are trusted by their address have no
   * credential, and are not rechecked.
   */
  watch(facts: RequestFacts, principal: Principal, watcher: CredentialWatcher): () => void {
    if (principal.trusted_as === 'loopback' || principal.trusted_as === 'trusted_network') return () => {}
    const slot = this.#slots[this.#addedCount++ % this.#slots.length]!
    const watch: WatchedCredential = {
      facts: { ...facts, is_recheck: true },
      watcher,
      slot,
      principal,
      isRechecking: false,
    }
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
      // The watcher may be gone meanwhile.
      if (watch.slot.has(watch)) this.#applyVerdict(watch, verdict)
    } catch (error) {
      this.#log.error({ err: error }, 'credential recheck failed')
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

  /** A credential that cannot be checked now is not revoked, but it still expires. */
  #keepUntilExpiry(watch: WatchedCredential): void {
    const { expires_at } = watch.principal
    if (expires_at !== null && expires_at <= this.#platform.now()) this.#end(watch)
  }

  #end(watch: WatchedCredential): void {
    this.#forget(watch)
    watch.watcher.onEnded()
  }
}

/** Whether caller and trust are the same: without its token, a caller may still be trusted by its address. */
function isSameCredential(now: Principal, before: Principal): boolean {
  const same: readonly (keyof Principal)[] = ['user_id', 'workspace_id', 'trusted_as', 'token_id', 'app_id']
  return same.every((key) => now[key] === before[key])
}
