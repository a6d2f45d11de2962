// Encodes the parts of an answer as the events of a stream.

import { DONE_EVENT, encodeEvent } from '../upstream/chunk-scan.ts'
import type { AnswerPart } from './generator.ts'
import { type AnswerHead, encodeChunks } from './openai-format.ts'
import type { AnswerStreamSource } from './stream.ts'

export interface AnswerEncoderParts {
  readonly parts: AsyncGenerator<AnswerPart, void, void>
  readonly head: AnswerHead
  readonly include_usage: boolean
  /** Reports why the answer broke off. Returns the event that tells the client. */
  failed(error: unknown): string
}

export class AnswerEncoder implements AnswerStreamSource {
  readonly #parts: AnswerEncoderParts
  readonly #chunks: ReturnType<typeof encodeChunks>
  #begun = false
  #over = false

  constructor(parts: AnswerEncoderParts) {
    this.#parts = parts
    this.#chunks = encodeChunks(parts.parts, parts.head, parts.include_usage)
  }

  /** @throws what `parts` throws before the first event */
  async next(): Promise<string | null> {
    if (this.#over) return null
    try {
      const step = await this.#chunks.next()
      this.#over = step.done === true
      this.#begun = true
      return step.done ? DONE_EVENT : encodeEvent(step.value)
    } catch (error) {
      this.#over = true
      if (!this.#begun) throw error
      return `${this.#parts.failed(error)}${DONE_EVENT}`
    }
  }

  /** A part may be in progress: the signal of its call ends that part. */
  close(): void {
    if (this.#over) return
    this.#over = true
    void this.#chunks.return().catch(() => {})
  }
}
