// Where the lines of a text end: at a feed, at a return, or at both, as in streams of events (HTML, "Parsing an event stream").

/** Asked from one line to the next, it looks at each character of the text once for each kind of end, however many lines there are. */
export class LineEnds {
  readonly #text: Pick<string, 'indexOf'>
  #feed: number
  #back: number

  constructor(text: Pick<string, 'indexOf'>) {
    this.#text = text
    this.#feed = text.indexOf('\n', 0)
    this.#back = text.indexOf('\r', 0)
  }

  /** Of the line that begins at `from`, which is never less than before: the first character of its end; -1 where the text has none. */
  from(from: number): number {
    // What was not there from an earlier place on is not there now.
    if (this.#feed >= 0 && this.#feed < from) this.#feed = this.#text.indexOf('\n', from)
    if (this.#back >= 0 && this.#back < from) this.#back = this.#text.indexOf('\r', from)
    return this.#feed < 0 || this.#back < 0 ? Math.max(this.#feed, this.#back) : Math.min(this.#feed, this.#back)
  }
}
