// One text of a streamed answer, such as the content of its first choice: its pieces without secrets, also without those that are cut over several.
import type { JsonUnescaper } from '../../redaction/json-unescaper.ts'
import { REDACTION_CHUNK_LENGTH } from '../../redaction/long-text-redaction.ts'
import type { EagerSecretReplacer } from '../../redaction/streams/eager-secret-replacer.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { TextPiece } from './choice-texts.ts'

export class StreamedChoiceText {
  readonly #tail: EagerSecretReplacer
  /** Null where the text is no JSON. */
  readonly #unescaper: JsonUnescaper | null
  /** Pieces of which something waits, or that are shown with it. */
  #waiting_pieces: TextPiece[] = []
  /** What may be shown of them, and of what waited before them. */
  #redacted = ''
  /** What was looked at of them. */
  #original = ''

  constructor(tail: EagerSecretReplacer, plain: JsonUnescaper | null) {
    this.#tail = tail
    this.#unescaper = plain
  }

  /** Takes the next text where it is shown as it is, and nothing of it waits. */
  tryPass(text: string): boolean {
    if (!this.#tail.wouldPass(text) || this.#unescaper?.wouldPass(text) === false) return false
    this.#tail.push(text)
    return true
  }

  /** A long text is taken in steps. */
  *push(piece: TextPiece): Steps<void> {
    this.#waiting_pieces.push(piece)
    const { text } = piece
    for (let at = 0; at === 0 || at < text.length; at += REDACTION_CHUNK_LENGTH) {
      if (at > 0) yield
      yield* this.#take(text.slice(at, at + REDACTION_CHUNK_LENGTH))
    }
    if (this.#tail.waiting === 0 && !this.#unescaper?.waiting) this.release()
  }

  /** Its pieces wait no more: each is shown as it came, or, where something is replaced, all with the first of them. What waits is shown with the next. */
  release(): void {
    const shown = this.#redacted
    const isReplaced = shown !== this.#original || Boolean(this.#unescaper?.waiting)
    for (const [at, piece] of this.#waiting_pieces.entries()) {
      piece.isReplaced = isReplaced
      piece.shown = isReplaced ? (at === 0 ? shown : '') : piece.text
    }
    this.#waiting_pieces = []
    this.#redacted = ''
    this.#original = ''
  }

  *#take(text: string): Steps<void> {
    const given = this.#unescaper ? this.#unescaper.push(text) : text
    this.#original += given
    this.#redacted += yield* this.#tail.pushSteps(given)
  }

  /** Nothing follows. Gives what is shown behind all pieces. */
  end(): string {
    const given = this.#unescaper?.end() ?? ''
    this.#original += given
    const rest = this.#tail.push(given) + this.#tail.end()
    if (this.#waiting_pieces.length === 0) return rest
    this.#redacted += rest
    this.release()
    return ''
  }
}
