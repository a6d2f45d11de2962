// Builds a text from the pieces of a document. White space collapses to one space, and a gap between pieces is written once, when the next
// piece arrives.

export type TextGap = 'space' | 'line' | 'paragraph'

/** From the weakest to the strongest. */
const GAP_TEXTS: readonly string[] = ['', ' ', '\n', '\n\n']
const GAP_RANKS: Readonly<Record<TextGap, number>> = { space: 1, line: 2, paragraph: 3 }

export class PlainTextBuilder {
  #text = ''
  #gap = 0

  get text(): string {
    return this.#text
  }

  get length(): number {
    return this.#text.length
  }

  /** Separates earlier text from later text. The strongest of several gaps counts. */
  addGap(gap: TextGap): void {
    this.#gap = Math.max(this.#gap, GAP_RANKS[gap])
  }

  /** Adds a piece. A preformatted piece stays unchanged. */
  add(piece: string, preformatted = false): void {
    if (preformatted) {
      this.#append(piece)
      return
    }
    const collapsed = piece.replaceAll(/[ \t\r\n\f]+/g, ' ')
    if (collapsed.startsWith(' ')) this.addGap('space')
    const words = collapsed.trim()
    if (words === '') return
    this.#append(words)
    if (collapsed.endsWith(' ')) this.addGap('space')
  }

  #append(piece: string): void {
    if (piece === '') return
    if (this.#text !== '') this.#text += GAP_TEXTS[this.#gap]
    this.#gap = 0
    this.#text += piece
  }
}
