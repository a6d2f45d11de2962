// The commands of one connection that are being carried out, or wait for their turn: what they hold is bounded, as of a request, whose connection
// brings no other one meanwhile.
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'

/** Bytes of a command besides its frame. */
const COMMAND = 1_024

export class UnderWay {
  #bytes = 0
  #less: PromiseWithResolvers<void> | null = null

  /** Whether there is so much that nothing more is to be read. */
  get full(): boolean {
    return this.#bytes > LARGE_PAYLOAD
  }

  /** A command whose frame has so many bytes is under way until `work` has ended. */
  add(bytes: number, work: Promise<void>): void {
    const all = bytes + COMMAND
    this.#bytes += all
    const ended = () => {
      this.#bytes -= all
      if (!this.full) this.#less?.resolve()
    }
    void work.then(ended, ended)
  }

  /** Resolves when there is room for another one. */
  async less(): Promise<void> {
    while (this.full) {
      this.#less = Promise.withResolvers()
      await this.#less.promise
    }
  }
}
