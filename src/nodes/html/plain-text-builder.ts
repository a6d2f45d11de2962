// A text that is put together from the pieces of a document: white space becomes one space, and what parts pieces is
// written once, when the next one comes.

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

  /** Parts what was added from what comes next. The strongest of several counts. */
  addGap(gap: TextGap): void {
    this.#gap = Math.max(this.#gap, GAP_RANKS[gap])
  }

  /** Adds a piece; a preformatted one as it is. */
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
