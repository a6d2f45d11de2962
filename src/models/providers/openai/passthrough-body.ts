// The body of a passthrough answer. Its failures become ProviderErrors.

import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import type { UpstreamResponseBody } from '../../../net/upstream/response-body.ts'
import { createConnectionError, type ServerCredentials } from './errors.ts'

type BodyStep = IteratorResult<Uint8Array, undefined>

export class PassthroughBody implements AsyncIterable<Uint8Array> {
  readonly #body: UpstreamResponseBody
  readonly #maxBytes: number
  readonly #server: ServerCredentials
  #byteCount = 0

  /** `most`: the most bytes of the body. */
  constructor(body: UpstreamResponseBody, most: number, asked: ServerCredentials) {
    this.#body = body
    this.#maxBytes = most
    this.#server = asked
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

  async #next(): Promise<BodyStep> {
    try {
      const step = await this.#body.next()
      if (!step.done) this.#count(step.value.length)
      return step
    } catch (error) {
      throw error instanceof UpstreamFailure ? createConnectionError(this.#server, error) : error
    }
  }

  #count(bytes: number): void {
    this.#byteCount += bytes
    if (this.#byteCount <= this.#maxBytes) return
    this.destroy()
    throw new UpstreamFailure('too_large', `sent an answer of more than ${this.#maxBytes.toLocaleString('en')} bytes`)
  }
}
