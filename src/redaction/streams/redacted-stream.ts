// Redacts a streamed text: text that may begin a secret is held until it is decided, so that no part of a secret is
// shown. The outputs, joined, equal the stored text.
import type { Steps } from '../../shared/time-slices.ts'
import { INITIAL_CREDENTIAL_STATE, redactCredentialsInPiece } from '../credentials/redaction.ts'
import type { Redactor } from '../redactor.ts'
import type { Continuation, SecretReplacer } from './secret-replacer.ts'

export class RedactedStream {
  readonly #replacer: SecretReplacer
  #credentials = INITIAL_CREDENTIAL_STATE
  /** The first half of a surrogate pair, held until the other half arrives. */
  #half_character = ''

  constructor(redactor: Redactor) {
    this.#replacer = redactor.createStreamReplacer()
  }

  /** The number of held characters that would be emitted if the text ended here. */
  get waiting(): number {
    return (
      this.#replacer.waiting +
      redactCredentialsInPiece(this.#credentials, '', 'none').told.length +
      this.#half_character.length
    )
  }

  /** Takes a piece, and returns the text that may be emitted now. */
  push(text: string): string {
    return this.#takeWholeCharacters(this.#replacer.push(text, 'more'))
  }

  /** Like `push`, if much is held. The caller finishes all steps before the next call. */
  *pushSteps(text: string): Steps<string> {
    return this.#takeWholeCharacters(yield* this.#replacer.pushSteps(text, 'more'))
  }

  #takeWholeCharacters(shown: string): string {
    const all = this.#half_character + this.#redactCredentials(shown, 'more')
    this.#half_character = /[\ud800-\udbff]$/.exec(all)?.[0] ?? ''
    return this.#half_character === '' ? all : all.slice(0, -1)
  }

  /** Ends the text and returns the rest. */
  end(): string {
    return this.#takeRest(this.#replacer.push('', 'none'), 'none')
  }

  /** Like `end`, if much is held. */
  *endSteps(): Steps<string> {
    return this.#takeRest(yield* this.#replacer.pushSteps('', 'none'), 'none')
  }

  /**
   * Ends an incomplete text: a prefix of a secret or a credential is replaced like a complete one, unless it has only a
   * few letters.
   */
  cut(): string {
    return this.#takeRest(this.#replacer.push('', 'missing'), 'missing')
  }

  /** Like `cut`, if much is held. The caller finishes all steps before the next call. */
  *cutSteps(): Steps<string> {
    return this.#takeRest(yield* this.#replacer.pushSteps('', 'missing'), 'missing')
  }

  #takeRest(shown: string, rest: Continuation): string {
    const output = this.#half_character + this.#redactCredentials(shown, rest)
    this.#credentials = INITIAL_CREDENTIAL_STATE
    this.#half_character = ''
    return output
  }

  #redactCredentials(shown: string, rest: Continuation): string {
    const { told, after } = redactCredentialsInPiece(this.#credentials, shown, rest)
    this.#credentials = after
    return told
  }
}
