// One text of a streamed answer, such as the content of its first choice: its pieces without secrets, also without those that are cut over several.
import type { PlainEscapes } from '../redaction/plain-escapes.ts'
import type { SecretTail } from '../redaction/secret-tail.ts'
import { LONG_TEXT } from '../redaction/text-steps.ts'
import type { Steps } from '../time-slices.ts'
import type { TextPiece } from './choice-texts.ts'

export class AnswerText {
  readonly #tail: SecretTail
  /** Null where the text is no JSON. */
  readonly #plain: PlainEscapes | null
  /** Pieces of which something waits, or that are shown with it. */
  #open: TextPiece[] = []
  /** What may be shown of them, and of what waited before them. */
  #shown = ''
  /** What was looked at of them. */
  #given = ''

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

  /** A long text is taken in steps. */
  *push(piece: TextPiece): Steps<void> {
    this.#open.push(piece)
    const { text } = piece
    for (let at = 0; at === 0 || at < text.length; at += LONG_TEXT) {
      if (at > 0) yield
      yield* this.#take(text.slice(at, at + LONG_TEXT))
    }
    if (this.#tail.waiting === 0 && !this.#plain?.waiting) this.letGo()
  }

  /** Its pieces wait no more: each is shown as it came, or, where something is replaced, all with the first of them. What waits is shown with the next. */
  letGo(): void {
    const shown = this.#shown
    const isReplaced = shown !== this.#given || Boolean(this.#plain?.waiting)
    for (const [at, piece] of this.#open.entries()) {
      piece.isReplaced = isReplaced
      piece.shown = isReplaced ? (at === 0 ? shown : '') : piece.text
    }
    this.#open = []
    this.#shown = ''
    this.#given = ''
  }

  *#take(text: string): Steps<void> {
    const given = this.#plain ? this.#plain.push(text) : text
    this.#given += given
    this.#shown += yield* this.#tail.pushSteps(given)
  }

  /** Nothing follows. Gives what is shown behind all pieces. */
  end(): string {
    const given = this.#plain?.end() ?? ''
    this.#given += given
    const rest = this.#tail.push(given) + this.#tail.end()
    if (this.#open.length === 0) return rest
    this.#shown += rest
    this.letGo()
    return ''
  }
}
