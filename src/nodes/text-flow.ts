// A text that is put together from the pieces of a document: white space becomes one space, and what parts pieces is
// written once, when the next one comes.

export type Gap = 'space' | 'line' | 'paragraph'

/** From the weakest to the strongest. */
const GAPS: readonly string[] = ['', ' ', '\n', '\n\n']
const RANKS: Readonly<Record<Gap, number>> = { space: 1, line: 2, paragraph: 3 }

export class TextFlow {
  #text = ''
  #gap = 0

  get text(): string {
    return this.#text
  }

  get length(): number {
    return this.#text.length
  }

  /** Parts what was added from what comes next. The strongest of several counts. */
  part(gap: Gap): void {
    this.#gap = Math.max(this.#gap, RANKS[gap])
  }

  /** Adds a piece; a preformatted one as it is. */
  add(piece: string, preformatted = false): void {
    if (preformatted) {
      this.#append(piece)
      return
    }
    const collapsed = piece.replaceAll(/[ \t\r\n\f]+/g, ' ')
    if (collapsed.startsWith(' ')) this.part('space')
    const words = collapsed.trim()
    if (words === '') return
    this.#append(words)
    if (collapsed.endsWith(' ')) this.part('space')
  }

  #append(piece: string): void {
    if (piece === '') return
    if (this.#text !== '') this.#text += GAPS[this.#gap]
    this.#gap = 0
    this.#text += piece
  }
}
