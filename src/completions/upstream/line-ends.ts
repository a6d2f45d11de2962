// Where the lines of a text end: at a feed, at a return, or at both, as in streams of events (HTML, "Parsing an event stream").

/** Asked from one line to the next, it looks at each character of the text once for each kind of end, however many lines there are. */
export class LineEndFinder {
  readonly #text: Pick<string, 'indexOf'>
  #next_feed: number
  #next_return: number

  constructor(text: Pick<string, 'indexOf'>) {
    this.#text = text
    this.#next_feed = text.indexOf('\n', 0)
    this.#next_return = text.indexOf('\r', 0)
  }

  /** Of the line that begins at `from`, which is never less than before: the first character of its end; -1 where the text has none. */
  from(from: number): number {
    // What was not there from an earlier place on is not there now.
    if (this.#next_feed >= 0 && this.#next_feed < from) this.#next_feed = this.#text.indexOf('\n', from)
    if (this.#next_return >= 0 && this.#next_return < from) this.#next_return = this.#text.indexOf('\r', from)
    return this.#next_feed < 0 || this.#next_return < 0
      ? Math.max(this.#next_feed, this.#next_return)
      : Math.min(this.#next_feed, this.#next_return)
  }
}
