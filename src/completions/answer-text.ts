// One text of a streamed answer, such as the content of its first choice: its pieces without secrets, also without those that are cut over several.
import { type PlainEscapes, withPlainEscapes } from '../redaction/plain-escapes.ts'
import type { SecretTail } from '../redaction/secret-tail.ts'
import type { TextPiece } from './choice-texts.ts'

export class AnswerText {
  readonly #tail: SecretTail
  /** Null where the text is no JSON. */
  readonly #plain: PlainEscapes | null
  /** Pieces of which something waits, or that are shown with it. */
  #open: TextPiece[] = []
  /** What may be shown of them, and of what waited before them. */
  #shown = ''

  constructor(tail: SecretTail, plain: PlainEscapes | null) {
    this.#tail = tail
    this.#plain = plain
  }

  /** Takes the next text where it is shown as it is, and nothing of it waits. */
  pass(text: string): boolean {
    if (!this.#tail.wouldPass(text) || this.#plain?.wouldPass(text) === false) return false
    this.#tail.push(text)
    return true
  }

  push(piece: TextPiece): void {
    this.#open.push(piece)
    this.#shown += this.#tail.push(this.#plain ? this.#plain.push(piece.text) : piece.text)
    if (this.#tail.waiting === 0 && !this.#plain?.waiting) this.letGo()
  }

  /** Its pieces wait no more: each is shown as it came, or, where something is replaced, all with the first of them. What waits is shown with the next. */
  letGo(): void {
    const shown = this.#shown
    const given = this.#open.map(({ text }) => text).join('')
    const isReplaced = shown !== (this.#plain ? withPlainEscapes(given) : given)
    for (const [at, piece] of this.#open.entries()) {
      piece.isReplaced = isReplaced
      piece.shown = isReplaced ? (at === 0 ? shown : '') : piece.text
    }
    this.#open = []
    this.#shown = ''
  }

  /** Nothing follows. Gives what is shown behind all pieces. */
  end(): string {
    const rest = this.#tail.push(this.#plain?.end() ?? '') + this.#tail.end()
    if (this.#open.length === 0) return rest
    this.#shown += rest
    this.letGo()
    return ''
  }
}
