// A text that comes in pieces, without its secrets: what may turn out to be one is held back until that is known, so that nobody is told any part
// of it. What is told, joined, is what is kept.
import type { Steps } from '../time-slices.ts'
import { credentialsTaken, NO_CREDENTIALS } from './credentials.ts'
import type { Redactor } from './redactor.ts'
import type { Rest, SecretsInPieces } from './secrets.ts'

export class RedactedStream {
  readonly #secrets: SecretsInPieces
  #credentials = NO_CREDENTIALS
  /** The first half of a character whose other half has not come: half a character is none. */
  #half = ''

  constructor(redactor: Redactor) {
    this.#secrets = redactor.secretsInPieces()
  }

  /** How many characters are held back that would be told where nothing follows. */
  get waiting(): number {
    return this.#secrets.waiting + credentialsTaken(this.#credentials, '', 'none').told.length + this.#half.length
  }

  /** Takes a piece, and gives what may be told now. */
  push(text: string): string {
    return this.#whole(this.#secrets.push(text, 'more'))
  }

  /** As `push`, where much waits. The next piece comes, and the rest is asked for, when all steps are done. */
  *pushSteps(text: string): Steps<string> {
    return this.#whole(yield* this.#secrets.pushSteps(text, 'more'))
  }

  #whole(shown: string): string {
    const all = this.#half + this.#told(shown, 'more')
    this.#half = /[\ud800-\udbff]$/.exec(all)?.[0] ?? ''
    return this.#half === '' ? all : all.slice(0, -1)
  }

  /** The rest: nothing follows. */
  end(): string {
    return this.#rest(this.#secrets.push('', 'none'), 'none')
  }

  /** As `end`, where much waits. */
  *endSteps(): Steps<string> {
    return this.#rest(yield* this.#secrets.pushSteps('', 'none'), 'none')
  }

  /** The rest where more would have followed: what may begin a secret or a credential there, and is not just a few letters, is replaced like a whole one. */
  cut(): string {
    return this.#rest(this.#secrets.push('', 'missing'), 'missing')
  }

  #rest(shown: string, rest: Rest): string {
    const told = this.#half + this.#told(shown, rest)
    this.#credentials = NO_CREDENTIALS
    this.#half = ''
    return told
  }

  #told(shown: string, rest: Rest): string {
    const { told, after } = credentialsTaken(this.#credentials, shown, rest)
    this.#credentials = after
    return told
  }
}
