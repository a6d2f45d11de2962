// Redacts one text of a streamed answer, such as the content of its first choice, also secrets that are split across
// pieces.
import type { JsonUnescaper } from '../../redaction/json-unescaper.ts'
import { REDACTION_CHUNK_LENGTH } from '../../redaction/long-text-redaction.ts'
import type { EagerSecretReplacer } from '../../redaction/streams/eager-secret-replacer.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { TextPiece } from './choice-texts.ts'

export class StreamedChoiceText {
  readonly #tail: EagerSecretReplacer
  /** Null if the text is not JSON. */
  readonly #unescaper: JsonUnescaper | null
  /** Pieces with held text, or that are shown together with it. */
  #waiting_pieces: TextPiece[] = []
  /** Redacted text of these pieces, and of text that was held before. */
  #redacted = ''
  /** The original text of the same characters. */
  #original = ''

  constructor(tail: EagerSecretReplacer, plain: JsonUnescaper | null) {
    this.#tail = tail
    this.#unescaper = plain
  }

  /** Takes the text and returns true if it needs no change and no part of it must be held. */
  tryPass(text: string): boolean {
    if (!this.#tail.wouldPass(text) || this.#unescaper?.wouldPass(text) === false) return false
    this.#tail.push(text)
    return true
  }

  /** Takes a long text in steps. */
  *push(piece: TextPiece): Steps<void> {
    this.#waiting_pieces.push(piece)
    const { text } = piece
    for (let at = 0; at === 0 || at < text.length; at += REDACTION_CHUNK_LENGTH) {
      if (at > 0) yield
      yield* this.#take(text.slice(at, at + REDACTION_CHUNK_LENGTH))
    }
    if (this.#tail.waiting === 0 && !this.#unescaper?.waiting) this.release()
  }

  /**
   * Releases the held pieces: unchanged, or, if something is replaced, with all text in the first piece. Text that is
   * still held is shown with the next piece.
   */
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

  /** Ends the text. Returns the text to show after all pieces. */
  *endSteps(): Steps<string> {
    const given = this.#unescaper?.end() ?? ''
    this.#original += given
    const rest = (yield* this.#tail.pushSteps(given)) + (yield* this.#tail.endSteps())
    if (this.#waiting_pieces.length === 0) return rest
    this.#redacted += rest
    this.release()
    return ''
  }
}
