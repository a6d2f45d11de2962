// A text that comes in pieces, without its secrets: what may turn out to be one is held back until that is known, so that nobody is told any part
// of it. What is told, joined, is what is kept.
import type { Steps } from '../../shared/time-slices.ts'
import { INITIAL_CREDENTIAL_STATE, redactCredentialsInPiece } from '../credentials/redaction.ts'
import type { Redactor } from '../redactor.ts'
import type { Continuation, SecretReplacer } from './secret-replacer.ts'

export class RedactedStream {
  readonly #replacer: SecretReplacer
  #credentials = INITIAL_CREDENTIAL_STATE
  /** The first half of a character whose other half has not come: half a character is none. */
  #half_character = ''

  constructor(redactor: Redactor) {
    this.#replacer = redactor.createStreamReplacer()
  }

  /** How many characters are held back that would be told where nothing follows. */
  get waiting(): number {
    return (
      this.#replacer.waiting +
      redactCredentialsInPiece(this.#credentials, '', 'none').told.length +
      this.#half_character.length
    )
  }

  /** Takes a piece, and gives what may be told now. */
  push(text: string): string {
    return this.#takeWholeCharacters(this.#replacer.push(text, 'more'))
  }

  /** As `push`, where much waits. The next piece comes, and the rest is asked for, when all steps are done. */
  *pushSteps(text: string): Steps<string> {
    return this.#takeWholeCharacters(yield* this.#replacer.pushSteps(text, 'more'))
  }

  #takeWholeCharacters(shown: string): string {
    const all = this.#half_character + this.#redactCredentials(shown, 'more')
    this.#half_character = /[\ud800-\udbff]$/.exec(all)?.[0] ?? ''
    return this.#half_character === '' ? all : all.slice(0, -1)
  }

  /** The rest: nothing follows. */
  end(): string {
    return this.#takeRest(this.#replacer.push('', 'none'), 'none')
  }

  /** As `end`, where much waits. */
  *endSteps(): Steps<string> {
    return this.#takeRest(yield* this.#replacer.pushSteps('', 'none'), 'none')
  }

  /** The rest where more would have followed: what may begin a secret or a credential there, and is not just a few letters, is replaced like a whole one. */
  cut(): string {
    return this.#takeRest(this.#replacer.push('', 'missing'), 'missing')
  }

  #takeRest(shown: string, rest: Continuation): string {
    const told = this.#half_character + this.#redactCredentials(shown, rest)
    this.#credentials = INITIAL_CREDENTIAL_STATE
    this.#half_character = ''
    return told
  }

  #redactCredentials(shown: string, rest: Continuation): string {
    const { told, after } = redactCredentialsInPiece(this.#credentials, shown, rest)
    this.#credentials = after
    return told
  }
}
