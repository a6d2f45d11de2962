// Reserves memory for a large message, from before most of it is read until it is parsed. The length of an incoming message is unknown, so a large
// message reserves the maximum.
import type { FairMemoryAccount } from '../../payloads/fair-memory-account.ts'

/** Bytes up to which a message is not counted: more than the system delivers at once. */
const UNCOUNTED_BYTES = 131_072

/** The bytes of a client's ping or pong besides its data (RFC 6455, section 5.2). */
const CONTROL_FRAME_HEAD_BYTES = 6

export interface MessageMemoryOptions {
  readonly received: FairMemoryAccount
  /** The owner of the reservation. */
  readonly owner: () => string
  /** Bytes that a message may have. */
  readonly max_message_bytes: number
  /** Pauses and resumes reading. */
  readonly pause: () => void
  readonly resume: () => void
  /** Called if there was no memory in time. */
  readonly refuse: () => void
}

/** The reservation for a message, which is released once. */
class MessageReservation {
  #release: (() => void) | null = null
  #isReleased = false

  get isReleased(): boolean {
    return this.#isReleased
  }

  grant(release: () => void): void {
    if (this.#isReleased) release()
    else this.#release = release
  }

  readonly release = (): void => {
    this.#isReleased = true
    this.#release?.()
    this.#release = null
  }
}

const doNothing = (): void => {}

export class MessageMemory {
  readonly #options: MessageMemoryOptions
  /** Bytes that came since the last message ended. */
  #pending = 0
  #reservation: MessageReservation | null = null

  constructor(options: MessageMemoryOptions) {
    this.#options = options
  }

  /** Counts received bytes. */
  addBytes(bytes: number): void {
    this.#pending += bytes
    if (this.#pending > UNCOUNTED_BYTES && !this.#reservation) void this.#reserve()
  }

  /** Subtracts a ping or pong with `bytes` of data, which is no part of a message. */
  subtractControlFrame(bytes: number): void {
    this.#pending = Math.max(0, this.#pending - bytes - CONTROL_FRAME_HEAD_BYTES)
  }

  /** Ends a message. Call the returned function once its bytes are no longer needed. */
  endMessage(): () => void {
    const reservation = this.#reservation
    this.#reservation = null
    this.#pending = 0
    return reservation?.release ?? doNothing
  }

  async #reserve(): Promise<void> {
    const { received, owner, max_message_bytes, pause, resume, refuse } = this.#options
    const reservation = new MessageReservation()
    this.#reservation = reservation
    pause()
    try {
      reservation.grant(await received.take(owner(), max_message_bytes))
    } catch {
      if (!reservation.isReleased) refuse()
    } finally {
      resume()
    }
  }
}
