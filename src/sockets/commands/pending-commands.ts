// Limits the memory of a connection's running and waiting commands. A request over HTTP is limited as its connection brings no other meanwhile.
import { LARGE_PAYLOAD_BYTES } from '../../payloads/payload-validator.ts'

/** Bytes of a command besides those of its frame. */
const COMMAND_BYTES = 1_024

export class PendingCommands {
  #bytes = 0
  #freed: PromiseWithResolvers<void> | null = null

  /** Whether reading has to stop. */
  get isFull(): boolean {
    return this.#bytes > LARGE_PAYLOAD_BYTES
  }

  /** Counts a command, whose frame has `bytes`, until `work` has ended. */
  add(bytes: number, work: Promise<void>): void {
    const command_bytes = bytes + COMMAND_BYTES
    this.#bytes += command_bytes
    const ended = () => {
      this.#bytes -= command_bytes
      if (!this.isFull) this.#freed?.resolve()
    }
    void work.then(ended, ended)
  }

  /** Resolves when there is capacity for another command. */
  async waitForCapacity(): Promise<void> {
    while (this.isFull) {
      this.#freed = Promise.withResolvers()
      await this.#freed.promise
    }
  }
}
