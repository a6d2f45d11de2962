// Answers that come as parts, on their way to the client as the events of a stream.

import type { Pieces } from './answer-stream.ts'
import type { AnswerPart } from './answering.ts'
import { type AnswerHead, chunksOf } from './assembling.ts'
import { DONE_EVENT, eventOf } from './chunk-facts.ts'

export interface TellingParts {
  readonly parts: AsyncGenerator<AnswerPart, void, void>
  readonly head: AnswerHead
  readonly include_usage: boolean
  /** Why nothing more comes. Gives what the client is told of it. */
  failed(error: unknown): string
}

export class Telling implements Pieces {
  readonly #parts: TellingParts
  readonly #chunks: ReturnType<typeof chunksOf>
  #begun = false
  #over = false

  constructor(parts: TellingParts) {
    this.#parts = parts
    this.#chunks = chunksOf(parts.parts, parts.head, parts.include_usage)
  }

  /** @throws what the parts throw before there is anything */
  async next(): Promise<string | null> {
    if (this.#over) return null
    try {
      const step = await this.#chunks.next()
      this.#over = step.done === true
      this.#begun = true
      return step.done ? DONE_EVENT : eventOf(step.value)
    } catch (error) {
      this.#over = true
      if (!this.#begun) throw error
      return `${this.#parts.failed(error)}${DONE_EVENT}`
    }
  }

  /** It may be in the middle of a part: that one ends by the signal of its call. */
  close(): void {
    if (this.#over) return
    this.#over = true
    void this.#chunks.return().catch(() => {})
  }
}
