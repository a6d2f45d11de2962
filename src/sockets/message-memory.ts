// Room for the bytes of a large message, from before most of it is read until it is parsed. Nobody knows how long a message will be while it
// comes in, so that one that is large has room for the largest that there may be.
import type { FairMemoryAccount } from '../payloads/fair-memory-account.ts'

/** Bytes of a message that is not counted: more than the system hands over at once. */
const UNCOUNTED_BYTES = 131_072

/** The bytes of a ping or pong of a client, besides its data (RFC 6455, section 5.2). */
const CONTROL_FRAME_HEAD_BYTES = 6

export interface MessageMemoryOptions {
  readonly received: FairMemoryAccount
  /** Whose room is taken. */
  readonly owner: () => string
  /** Bytes that a message may have. */
  readonly max_message_bytes: number
  /** Stops to read, and goes on. */
  readonly pause: () => void
  readonly resume: () => void
  /** There was no room in time. */
  readonly refuse: () => void
}

/** The room of one message: asked for once, left once. */
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

  /** So many bytes have come. */
  addBytes(bytes: number): void {
    this.#pending += bytes
    if (this.#pending > UNCOUNTED_BYTES && !this.#reservation) void this.#reserve()
  }

  /** A ping or a pong with so many bytes of data was among them, and is no part of a message. */
  subtractControlFrame(bytes: number): void {
    this.#pending = Math.max(0, this.#pending - bytes - CONTROL_FRAME_HEAD_BYTES)
  }

  /** The message has come to its end. Call what this gives once nothing needs its bytes. */
  endMessage(): () => void {
    const room = this.#reservation
    this.#reservation = null
    this.#pending = 0
    return room?.release ?? doNothing
  }

  async #reserve(): Promise<void> {
    const { received, owner, max_message_bytes: largest, pause, resume, refuse } = this.#options
    const room = new MessageReservation()
    this.#reservation = room
    pause()
    try {
      room.grant(await received.take(owner(), largest))
    } catch {
      if (!room.isReleased) refuse()
    } finally {
      resume()
    }
  }
}
