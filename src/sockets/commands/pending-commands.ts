// The commands of one connection that are being carried out, or wait for their turn: what they hold is bounded, as of a request, whose connection
// brings no other one meanwhile.
import { LARGE_PAYLOAD_BYTES } from '../../payloads/payload-validator.ts'

/** Bytes of a command besides its frame. */
const COMMAND_BYTES = 1_024

export class PendingCommands {
  #bytes = 0
  #freed: PromiseWithResolvers<void> | null = null

  /** Whether there is so much that nothing more is to be read. */
  get isFull(): boolean {
    return this.#bytes > LARGE_PAYLOAD_BYTES
  }

  /** A command whose frame has so many bytes is under way until `work` has ended. */
  add(bytes: number, work: Promise<void>): void {
    const all = bytes + COMMAND_BYTES
    this.#bytes += all
    const ended = () => {
      this.#bytes -= all
      if (!this.isFull) this.#freed?.resolve()
    }
    void work.then(ended, ended)
  }

  /** Resolves when there is room for another one. */
  async waitForCapacity(): Promise<void> {
    while (this.isFull) {
      this.#freed = Promise.withResolvers()
      await this.#freed.promise
    }
  }
}
