// Parses server-sent events from bytes that come in arbitrary pieces, and gives their data.
import { createParser } from 'eventsource-parser'

export class SseDataParser {
  readonly #found: string[] = []
  readonly #parser = createParser({ onEvent: ({ data }) => this.#found.push(data) })
  readonly #decoder = new TextDecoder()

  /** Gives the data of the events that are complete now. */
  feed(bytes: Uint8Array): string[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    return this.#found.splice(0)
  }
}
