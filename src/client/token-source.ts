// The credential of the caller. The client asks for it at its first use, and once more when the server refuses it.

import { raceAbort } from './abortable-waits.ts'
import type { ResolvedClientOptions } from './client-options.ts'
import { invalidArgumentError } from './errors.ts'

export class TokenSource {
  readonly #source: ResolvedClientOptions['token']
  #current: Promise<string | null> | null = null

  constructor(source: ResolvedClientOptions['token']) {
    this.#source = source
  }

  /** Whether another request may return another token. */
  get isRenewable(): boolean {
    return typeof this.#source === 'function'
  }

  /** The current token; null where there is none. Rejects with the error of the caller's function, or with the reason of the signal. */
  current(signal?: AbortSignal): Promise<string | null> {
    this.#current ??= this.#requestToken()
    return raceAbort(this.#current, signal)
  }

  /** Requests a new token, unless that has happened since `refused` was returned. */
  async renew(refused: string | null): Promise<void> {
    const asked = this.#current
    const current = await (asked?.catch(() => refused) ?? refused)
    if (current === refused && this.#current === asked) this.#current = null
  }

  async #requestToken(): Promise<string | null> {
    const source = this.#source
    if (typeof source !== 'function') return source === null ? null : validateToken(source)
    const asked = (async () => validateToken(await source()))()
    // A failure is not kept, so the next request asks again.
    asked.catch(() => {
      this.#current = null
    })
    return asked
  }
}

/** @throws INVALID_ARGUMENT for a token that no header may hold */
function validateToken(token: string): string {
  if (/^[ -~\u0080-\u00ff]*$/.test(token)) return token
  // The message does not reveal the token.
  throw invalidArgumentError('The token has a character that is invalid in a header.')
}
