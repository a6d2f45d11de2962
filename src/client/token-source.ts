// The credential of the caller: asked for when it is first needed, and once more when it is refused.

import { raceAbort } from './abortable-waits.ts'
import type { ResolvedClientOptions } from './client-options.ts'
import { invalidArgumentError } from './errors.ts'

export class TokenSource {
  readonly #source: ResolvedClientOptions['token']
  #current: Promise<string | null> | null = null

  constructor(source: ResolvedClientOptions['token']) {
    this.#source = source
  }

  /** Whether asking again may give another one. */
  get isRenewable(): boolean {
    return typeof this.#source === 'function'
  }

  /** The present token; null where there is none. Rejects as the function does that is to give one, or with the reason of the signal. */
  current(signal?: AbortSignal): Promise<string | null> {
    this.#current ??= this.#requestToken()
    return raceAbort(this.#current, signal)
  }

  /** Asks anew, unless somebody has done so since `refused` was given. */
  async renew(refused: string | null): Promise<void> {
    const asked = this.#current
    const current = await (asked?.catch(() => refused) ?? refused)
    if (current === refused && this.#current === asked) this.#current = null
  }

  async #requestToken(): Promise<string | null> {
    const source = this.#source
    if (typeof source !== 'function') return source === null ? null : validateToken(source)
    const asked = (async () => validateToken(await source()))()
    // One that fails is not kept: the next request asks again.
    asked.catch(() => {
      this.#current = null
    })
    return asked
  }
}

/** @throws INVALID_ARGUMENT for a token that cannot stand in a header */
function validateToken(token: string): string {
  if (/^[ -~\u0080-\u00ff]*$/.test(token)) return token
  // It says nothing of the token itself.
  throw invalidArgumentError('The token has a character that no header may have.')
}
