// Finds line ends of event streams: `
// `, `\r`, or both (HTML, "Parsing an event stream").

/** If called for one line after the other, it scans the text once for each kind of line end. */
export class LineEndFinder {
  readonly #text: Pick<string, 'indexOf'>
  #next_feed: number
  #next_return: number

  constructor(text: Pick<string, 'indexOf'>) {
    this.#text = text
    this.#next_feed = text.indexOf('\n', 0)
    this.#next_return = text.indexOf('\r', 0)
  }

  /** The end of the line that begins at `from`, which never decreases; -1 if the text has no more line ends. */
  from(from: number): number {
    // If an earlier search found nothing, a later one finds nothing.
    if (this.#next_feed >= 0 && this.#next_feed < from) this.#next_feed = this.#text.indexOf('\n', from)
    if (this.#next_return >= 0 && this.#next_return < from) this.#next_return = this.#text.indexOf('\r', from)
    return this.#next_feed < 0 || this.#next_return < 0
      ? Math.max(this.#next_feed, this.#next_return)
      : Math.min(this.#next_feed, this.#next_return)
  }
}
