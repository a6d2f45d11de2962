// The body of an answer that is handed on as it is: what goes wrong with it is a failure of its provider.
import type { UpstreamBody } from '../net/upstream-body.ts'
import { UpstreamFailure } from '../net/upstream-failure.ts'
import { type Asked, unanswered } from './openai-errors.ts'

type Step = IteratorResult<Uint8Array, undefined>

export class PassedPieces implements AsyncIterable<Uint8Array> {
  readonly #body: UpstreamBody
  readonly #most: number
  readonly #asked: Asked
  #bytes = 0

  /** `most`: bytes that it may have. */
  constructor(body: UpstreamBody, most: number, asked: Asked) {
    this.#body = body
    this.#most = most
    this.#asked = asked
  }

  destroy(): void {
    this.#body.destroy()
  }

  release(): void {
    this.#body.release()
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.destroy()
        return { done: true, value: undefined }
      },
    }
  }

  async #next(): Promise<Step> {
    try {
      const step = await this.#body.next()
      if (!step.done) this.#count(step.value.length)
      return step
    } catch (error) {
      throw error instanceof UpstreamFailure ? unanswered(this.#asked, error) : error
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes <= this.#most) return
    this.destroy()
    throw new UpstreamFailure('too_large', `sent an answer of more than ${this.#most.toLocaleString('en')} bytes`)
  }
}
