// One form of one secret. What is kept of it beside the secret are numbers, since all its forms together are many times as long.
import { Hashes, type Span, spanOf } from './hashes.ts'

export class Word {
  readonly #text: string
  readonly #write: (text: string) => string
  #span: Span | null = null
  #hash = 0

  constructor(text: string, write: (text: string) => string) {
    this.#text = text
    this.#write = write
  }

  /** Its characters; made anew each time. */
  form(): string {
    return this.#write(this.#text)
  }

  get span(): Span {
    return this.#span ?? this.#measured()
  }

  standsAt(text: Hashes, from: number): boolean {
    const span = this.span
    return from + span.length <= text.length && text.long(from, span) === this.#hash
  }

  /** Once, and not before its beginning is met in a text. */
  #measured(): Span {
    const form = this.form()
    this.#span = spanOf(form.length)
    this.#hash = new Hashes(form).long(0, this.#span)
    return this.#span
  }
}
