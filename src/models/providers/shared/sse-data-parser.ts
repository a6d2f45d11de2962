// The data of the events of a stream, whose bytes come in any pieces.
import { createParser } from 'eventsource-parser'

export class SseDataParser {
  readonly #found: string[] = []
  readonly #parser = createParser({ onEvent: ({ data }) => this.#found.push(data) })
  readonly #decoder = new TextDecoder()

  /** Of those that are whole now. */
  feed(bytes: Uint8Array): string[] {
    this.#parser.feed(this.#decoder.decode(bytes, { stream: true }))
    return this.#found.splice(0)
  }
}
