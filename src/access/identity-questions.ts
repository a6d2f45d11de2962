// Questions to the identity provider about tokens of others: how many may be open, and what it means when all are answered with no.
import type { Log } from '../log.ts'

/** So many are open at once; whoever comes on top is told to come back. */
const MOST = 128
/** So many of one caller, who may make up as many tokens as it likes and must not shut out others. */
const MOST_OF_A_CALLER = 16

export class Questions {
  readonly #of = new Map<string, number>()
  #open = 0

  /** Whether one more may be asked; then `end` must follow. `caller` null: one that is not bounded by itself. */
  begin(caller: string | null): boolean {
    const open = this.#openOf(caller)
    if (this.#open >= MOST || open >= MOST_OF_A_CALLER) return false
    this.#open++
    if (caller !== null) this.#of.set(caller, open + 1)
    return true
  }

  end(caller: string | null): void {
    this.#open--
    if (caller === null) return
    const open = this.#openOf(caller) - 1
    if (open > 0) this.#of.set(caller, open)
    else this.#of.delete(caller)
  }

  #openOf(caller: string | null): number {
    return caller === null ? 0 : (this.#of.get(caller) ?? 0)
  }
}

/** So many refusals in a row, without one user, look as if the server itself were refused. */
const SUSPICIOUS_REFUSALS = 10

/** A provider answers a wrong key of this server as it does a wrong token: says so once in the log, until it knows a user again. */
export class KeyWarning {
  readonly #log: Log
  #refused = 0

  constructor(log: Log) {
    this.#log = log
  }

  refused(): void {
    this.#refused++
    if (this.#refused === SUSPICIOUS_REFUSALS)
      this.#log.warn(
        `the identity provider has refused ${SUSPICIOUS_REFUSALS} tokens in a row and taken none: if callers should be known to it, look at IDP_KEY`,
      )
  }

  /** The provider named a user, so it takes the key. */
  answered(): void {
    this.#refused = 0
  }
}
