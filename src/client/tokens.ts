// The credential of the caller: asked for when it is first needed, and once more when it is refused.
import { argumentError } from './errors.ts'
import type { Settings } from './settings.ts'
import { unlessAborted } from './waiting.ts'

export class Tokens {
  readonly #source: Settings['token']
  #current: Promise<string | null> | null = null

  constructor(source: Settings['token']) {
    this.#source = source
  }

  /** Whether asking again may give another one. */
  get renewable(): boolean {
    return typeof this.#source === 'function'
  }

  /** The present token; null where there is none. Rejects as the function does that is to give one, or with the reason of the signal. */
  current(signal?: AbortSignal): Promise<string | null> {
    this.#current ??= this.#ask()
    return unlessAborted(this.#current, signal)
  }

  /** Asks anew, unless somebody has done so since `refused` was given. */
  async renew(refused: string | null): Promise<void> {
    const asked = this.#current
    const current = await (asked?.catch(() => refused) ?? refused)
    if (current === refused && this.#current === asked) this.#current = null
  }

  async #ask(): Promise<string | null> {
    const source = this.#source
    if (typeof source !== 'function') return source === null ? null : checked(source)
    const asked = (async () => checked(await source()))()
    // One that fails is not kept: the next request asks again.
    asked.catch(() => {
      this.#current = null
    })
    return asked
  }
}

/** @throws INVALID_ARGUMENT for a token that cannot stand in a header */
function checked(token: string): string {
  if (/^[ -~\u0080-\u00ff]*$/.test(token)) return token
  // It says nothing of the token itself.
  throw argumentError('The token has a character that no header may have.')
}
