// The receiving side of a socket: messages are limited, and executed one by one. Reading stops while there is no memory, time or capacity for more.
import type { RawData, WebSocket } from 'ws'
import { userShareKey } from '../../db/owner-scope.ts'
import { TimeSlice } from '../../engine/runtime/time-slice.ts'
import { ServiceError, toServiceError } from '../../errors.ts'
import { type PausableConnection, ReadThrottle } from '../../net/read-throttle.ts'
import { decodeFrame, FrameDecodeError, findInexactValues } from '../../payloads/frame-decoder.ts'
import { LARGE_PAYLOAD_BYTES } from '../../payloads/payload-validator.ts'
import type { CommandConnection } from '../commands/command-connection.ts'
import { dispatchMessage } from '../commands/dispatch.ts'
import { PendingCommands } from '../commands/pending-commands.ts'
import { TRY_AGAIN_LATER } from '../frames/frame-output.ts'
import type { WiredSocket } from '../keep-alive.ts'
import type { SocketChannel } from '../socket-channel.ts'
import { executeLargeMessage } from './large-message.ts'
import { MessageMemory } from './message-memory.ts'
import { MessageRateLimit } from './message-rate-limit.ts'

/** While this many large answers wait to be encoded, reading stops. */
const MAX_LARGE_ANSWERS = 8
const POLICY_VIOLATION = 1008

const throttle = new ReadThrottle()

interface ReceivedMessage {
  readonly data: Buffer
  readonly binary: boolean
  /** Releases the memory of the message. */
  readonly release: () => void
}

/** The connection whose commands are executed. */
interface InboxConnection extends CommandConnection {
  /** Whether the socket is neither closed nor closing. */
  readonly isOpen: boolean
  cut(code: number, reason: string): void
}

/** Stops reading from a socket for as long as there is a reason to. */
class ReadPauses implements PausableConnection {
  readonly #ws: WebSocket
  /** The number of active pauses. */
  #count = 0

  constructor(ws: WebSocket) {
    this.#ws = ws
  }

  readonly pause = (): void => {
    if (this.#count++ === 0) this.#ws.pause()
  }

  readonly resume = (): void => {
    if (--this.#count === 0) this.#ws.resume()
  }
}

export class MessageInbox {
  readonly #connection: InboxConnection
  readonly #channel: SocketChannel
  readonly #reading: ReadPauses
  readonly #memory: MessageMemory
  readonly #rateLimit: MessageRateLimit
  /** The share of messages in the main thread, like that of runs: many small messages block it as a large one does. */
  readonly #timeSlice: TimeSlice
  readonly #pendingCommands = new PendingCommands()
  readonly #messages: ReceivedMessage[] = []
  #isProcessing = false

  constructor({ ws, wire }: WiredSocket, connection: InboxConnection, channel: SocketChannel) {
    const { config, platform, transport } = connection.app
    this.#connection = connection
    this.#channel = channel
    this.#reading = new ReadPauses(ws)
    this.#rateLimit = new MessageRateLimit(config, platform)
    this.#timeSlice = new TimeSlice(userShareKey(connection.principal))
    this.#memory = new MessageMemory({
      received: transport.payloads.received,
      owner: () => userShareKey(connection.principal),
      max_message_bytes: config.ws_max_message_bytes,
      pause: this.#reading.pause,
      resume: this.#reading.resume,
      refuse: () => connection.cut(TRY_AGAIN_LATER, 'no memory for large messages at the moment'),
    })
    // Before the listener of the library, which may find the end of a message in the bytes.
    wire.prependListener('data', (piece: Buffer) => this.#memory.addBytes(piece.length))
    // After the listener of the library, which parses the bytes.
    throttle.add(this.#reading)
    wire.on('data', () => throttle.recordRead(this.#reading))
    ws.on('message', (data, binary) => this.#receive(data, binary))
    ws.on('ping', (data) => this.#memory.subtractControlFrame(data.length))
    ws.on('pong', (data) => this.#memory.subtractControlFrame(data.length))
  }

  /** Releases the memory of a message whose rest will not come, since the socket is closed. */
  end(): void {
    throttle.remove(this.#reading)
    this.#memory.endMessage()()
  }

  #receive(data: RawData, binary: boolean): void {
    const release = this.#memory.endMessage()
    // A closing socket still receives messages that were on their way.
    if (!this.#connection.isOpen) return release()
    if (this.#rateLimit.isExceededByNext()) {
      release()
      return this.#connection.cut(POLICY_VIOLATION, 'too many messages')
    }
    this.#messages.push({ data: data as Buffer, binary, release })
    if (!this.#isProcessing) void this.#processMessages()
  }

  /** Processes messages one by one, each when earlier answers fit into the buffer: a peer that does not read its answers is not read from. */
  async #processMessages(): Promise<void> {
    this.#isProcessing = true
    for (let next = this.#messages.shift(); next; next = this.#messages.shift()) {
      if (this.#timeSlice.isUsedUp(performance.now())) await this.#pauseWhile(this.#timeSlice.waitForTurn())
      if (this.#connection.isOpen) {
        if (next.data.length > LARGE_PAYLOAD_BYTES) await this.#processLarge(next)
        else this.#processSmall(next)
      }
      next.release()
      await this.#waitForAnswers()
      // Further commands would only wait in memory.
      if (this.#pendingCommands.isFull) await this.#pauseWhile(this.#pendingCommands.waitForCapacity())
    }
    this.#isProcessing = false
  }

  #processSmall({ data, binary }: ReceivedMessage): void {
    try {
      this.#requireText(binary)
      const message = decodeFrame(data, binary)
      const inexact = () => findInexactValues(message, data, binary)
      const work = dispatchMessage(this.#channel, this.#connection, message, inexact)
      if (work) this.#pendingCommands.add(data.length, work)
    } catch (error) {
      this.#sendError(error)
    }
  }

  /** Until a large message is dispatched, reading stops. */
  async #processLarge({ data, binary }: ReceivedMessage): Promise<void> {
    this.#reading.pause()
    try {
      this.#requireText(binary)
      await executeLargeMessage(this.#channel, this.#connection, data, binary)
    } catch (error) {
      this.#sendError(error)
    } finally {
      this.#reading.resume()
    }
  }

  #requireText(binary: boolean): void {
    if (binary && this.#channel.text_only) throw new FrameDecodeError('this socket takes JSON in text frames')
  }

  #sendError(error: unknown): void {
    const isTooLarge = error instanceof ServiceError && error.code === 'REQUEST_TOO_LARGE'
    if (error instanceof FrameDecodeError || isTooLarge)
      this.#connection.send({ error: 'invalid_frame', code: 'INVALID_REQUEST', message: error.message })
    else {
      this.#connection.app.log.error({ err: error }, 'a message could not be dispatched')
      const { code, publicMessage: message } = toServiceError(error)
      this.#connection.send({ type: 'error', code, message })
    }
  }

  async #waitForAnswers(): Promise<void> {
    const { large_answers, congested } = this.#connection
    if (!congested && large_answers.pending < MAX_LARGE_ANSWERS) return
    this.#reading.pause()
    await this.#connection.drained()
    if (large_answers.pending >= MAX_LARGE_ANSWERS) await large_answers.idle
    this.#reading.resume()
  }

  /** Reading stops until `end` resolves. */
  async #pauseWhile(end: Promise<void>): Promise<void> {
    this.#reading.pause()
    await end
    this.#reading.resume()
  }
}
