// Rechecks the credential of a socket or a request as long as it is open. The transport decides what happens when a credential ends.
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import { type AuthVerdict, INVALID_TOKEN, type RefusalCause, type UnauthorizedRefusal } from './auth-verdict.ts'
import type { Authenticator } from './authenticator.ts'
import { isTrustedByAddress, type Principal } from './principal.ts'
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
  onEnded(refusal: UnauthorizedRefusal): void
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
    if (isTrustedByAddress(principal)) return () => {}
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

  /** Checks a credential now. Resolves with its refusal if it is no longer valid; with null if it is, or cannot be checked and has not expired. */
  async check(facts: RequestFacts, principal: Principal): Promise<UnauthorizedRefusal | null> {
    if (isTrustedByAddress(principal)) return null
    return this.#findRefusal(principal, await this.#authenticator({ ...facts, is_recheck: true }))
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

  #applyVerdict(watch: WatchedCredential, verdict: AuthVerdict): void {
    const refusal = this.#findRefusal(watch.principal, verdict)
    if (refusal) return this.#end(watch, refusal)
    if (!verdict.principal) return
    watch.principal = verdict.principal
    watch.watcher.onRenewed?.(verdict.principal)
  }

  #keepUntilExpiry(watch: WatchedCredential): void {
    const refusal = this.#findExpiry(watch.principal)
    if (refusal) this.#end(watch, refusal)
  }

  #findRefusal(before: Principal, { principal, refusal }: AuthVerdict): UnauthorizedRefusal | null {
    if (refusal) return refusal.kind === 'unavailable' ? this.#findExpiry(before) : refusal
    return isSameCredential(principal, before) ? null : refuseToken('token_rejected')
  }

  /** A credential that cannot be checked now is not revoked, but it still expires. */
  #findExpiry({ expires_at }: Principal): UnauthorizedRefusal | null {
    return expires_at !== null && expires_at <= this.#platform.now() ? refuseToken('token_expired') : null
  }

  #end(watch: WatchedCredential, refusal: UnauthorizedRefusal): void {
    this.#forget(watch)
    watch.watcher.onEnded(refusal)
  }
}

function refuseToken(cause: RefusalCause): UnauthorizedRefusal {
  return { kind: 'unauthorized', reason: INVALID_TOKEN, cause }
}

/** Whether caller and trust are the same: without its token, a caller may still be trusted by its address. */
function isSameCredential(now: Principal, before: Principal): boolean {
  const same: readonly (keyof Principal)[] = ['user_id', 'workspace_id', 'trusted_as', 'token_id', 'app_id']
  return same.every((key) => now[key] === before[key])
}
