// Questions to the identity provider about tokens of others: how many may be open, and what it means when all are answered with no.
import type { Log } from '../../log.ts'

/** So many are open at once; whoever comes on top is told to come back. */
const MAX_OPEN = 128
/** So many of one caller, who may make up as many tokens as it likes and must not shut out others. */
const MAX_OPEN_PER_CALLER = 16

export class LookupQuota {
  readonly #openByCaller = new Map<string, number>()
  #open = 0

  /** Whether one more may be asked; then `end` must follow. `caller` null: one that is not bounded by itself. */
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

/** So many refusals in a row, without one user, look as if the server itself were refused. */
const SUSPICIOUS_REFUSALS = 10

/** A provider answers a wrong key of this server as it does a wrong token: says so once in the log, until it knows a user again. */
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
        `the identity provider has refused ${SUSPICIOUS_REFUSALS} tokens in a row and taken none: if callers should be known to it, look at IDP_KEY`,
      )
  }

  /** The provider named a user, so it takes the key. */
  recordSuccess(): void {
    this.#refused = 0
  }
}
