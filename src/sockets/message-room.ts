// Room for the bytes of a large message, from before most of it is read until it is parsed. Nobody knows how long a message will be while it
// comes in, so that one that is large has room for the largest that there may be.
import type { MemoryAccount } from '../payloads/memory-account.ts'

/** Bytes of a message that is not counted: more than the system hands over at once. */
const SMALL = 131_072

/** The bytes of a ping or pong of a client, besides its data (RFC 6455, section 5.2). */
const CONTROL_HEAD = 6

export interface MessageRoomOptions {
  readonly received: MemoryAccount
  /** Whose room is taken. */
  readonly owner: () => string
  /** Bytes that a message may have. */
  readonly largest: number
  /** Stops to read, and goes on. */
  readonly pause: () => void
  readonly resume: () => void
  /** There was no room in time. */
  readonly refuse: () => void
}

/** The room of one message: asked for once, left once. */
class Room {
  #release: (() => void) | null = null
  #left = false

  get left(): boolean {
    return this.#left
  }

  enter(release: () => void): void {
    if (this.#left) release()
    else this.#release = release
  }

  readonly leave = (): void => {
    this.#left = true
    this.#release?.()
    this.#release = null
  }
}

const NOTHING = (): void => {}

export class MessageRoom {
  readonly #options: MessageRoomOptions
  /** Bytes that came since the last message ended. */
  #pending = 0
  #room: Room | null = null

  constructor(options: MessageRoomOptions) {
    this.#options = options
  }

  /** So many bytes have come. */
  came(bytes: number): void {
    this.#pending += bytes
    if (this.#pending > SMALL && !this.#room) void this.#enter()
  }

  /** A ping or a pong with so many bytes of data was among them, and is no part of a message. */
  control(bytes: number): void {
    this.#pending = Math.max(0, this.#pending - bytes - CONTROL_HEAD)
  }

  /** The message has come to its end. Call what this gives once nothing needs its bytes. */
  ended(): () => void {
    const room = this.#room
    this.#room = null
    this.#pending = 0
    return room?.leave ?? NOTHING
  }

  async #enter(): Promise<void> {
    const { received, owner, largest, pause, resume, refuse } = this.#options
    const room = new Room()
    this.#room = room
    pause()
    try {
      room.enter(await received.take(owner(), largest))
    } catch {
      if (!room.left) refuse()
    } finally {
      resume()
    }
  }
}
