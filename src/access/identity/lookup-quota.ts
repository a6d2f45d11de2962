// Limits open lookups at the identity provider, and warns if the provider refuses all tokens.
import type { Log } from '../../log.ts'

/** Lookups that are open at once. Further callers get a 503. */
const MAX_OPEN = 128
/** Lookups of a caller, who may invent any number of tokens and must not shut out others. */
const MAX_OPEN_PER_CALLER = 16

/**
 * Rechecks of sockets and requests that are open at once, besides the lookups of callers. Further rechecks wait: a refused recheck keeps the
 * credential, so callers with full quotas could keep revoked ones.
 */
const MAX_OPEN_RECHECKS = 64

export class LookupQuota {
  readonly #openByCaller = new Map<string, number>()
  #open = 0

  /**
   * Whether another lookup may start; then `release` must follow. `caller` is the key of the caller, or null for a caller without a limit of its own.
   */
  acquire(caller: string | null): boolean {
    const open = this.#countOpen(caller)
    if (this.#open >= MAX_OPEN || open >= MAX_OPEN_PER_CALLER) return false
    this.#open++
    if (caller !== null) this.#openByCaller.set(caller, open + 1)
    return true
  }

  release(caller: string | null): void {
    this.#open--
    if (caller === null) return
    const open = this.#countOpen(caller) - 1
    if (open > 0) this.#openByCaller.set(caller, open)
    else this.#openByCaller.delete(caller)
  }

  #countOpen(caller: string | null): number {
    return caller === null ? 0 : (this.#openByCaller.get(caller) ?? 0)
  }
}

/** The places of rechecks. */
export class RecheckQueue {
  #open = 0
  readonly #waiting: (() => void)[] = []

  async acquire(): Promise<void> {
    if (this.#open < MAX_OPEN_RECHECKS) this.#open++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Hands the place to the recheck that has waited longest. */
  release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#open--
  }
}

/** After this many refusals in a row, the provider may be refusing the server itself. */
const SUSPICIOUS_REFUSALS = 10

/** A provider refuses a wrong key of this server like a wrong token. Logs a warning once, until the provider knows a user again. */
export class ServerKeyWarning {
  readonly #log: Log
  #refused = 0

  constructor(log: Log) {
    this.#log = log
  }

  recordRefusal(): void {
    this.#refused++
    if (this.#refused === SUSPICIOUS_REFUSALS)
      this.#log.warn(
        `the identity provider has refused ${SUSPICIOUS_REFUSALS} tokens in a row and accepted none: if it should know these callers, check IDP_KEY`,
      )
  }

  /** The provider named a user, so it accepts the key. */
  recordSuccess(): void {
    this.#refused = 0
  }
}
