// An open socket: received messages are decoded, limited and dispatched; frames are encoded, and held back for a slow peer. The channel's files
// handle commands.

import type { RawData, WebSocket } from 'ws'
import type { CommandInfo } from '../../generated/messages.ts'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { userShareKey } from '../db/owner-scope.ts'
import { makeMeasuredSteps } from '../engine/node-api/values/measure.ts'
import { TimeSlice } from '../engine/runtime/time-slice.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { ReadThrottle } from '../net/read-throttle.ts'
import { estimateContainerBytes, LARGE_RESPONSE_BYTES, type ResponseReader } from '../net/response-buffers.ts'
import { decodeFrame, FrameDecodeError, findInexactValues } from '../payloads/frame-decoder.ts'
import { parseJsonSteps } from '../payloads/incremental-json-parser.ts'
import { decodeMessagePackSteps } from '../payloads/incremental-message-pack-decoder.ts'
import { LARGE_PAYLOAD_BYTES } from '../payloads/payload-validator.ts'
import { KeyedQueue } from '../shared/keyed-queue.ts'
import { ChatFollowers } from './chat-followers.ts'
import { acceptCommand, dispatchMessage, executeCommand, refuseUnreadableCommand } from './commands/dispatch.ts'
import { PendingCommands } from './commands/pending-commands.ts'
import { ConnectionInferences } from './connection-inferences.ts'
import { encodeSocketFrame, type FrameMode } from './frames/codec.ts'
import { stripFrameValues } from './frames/fallback.ts'
import { AsyncMutex, encodeLargeFrame, isLargeFrame } from './frames/large-frames.ts'
import { JobFollowers } from './jobs/followers.ts'
import { JobSubscriptions } from './jobs/subscriptions.ts'
import { SocketKeepAlive, type SocketTimeouts, type WiredSocket } from './keep-alive.ts'
import { MessageMemory } from './message-memory.ts'
import type { SocketChannel } from './socket-channel.ts'

/** Above this many unsent bytes, provisional frames are dropped, followers wait, and reading stops. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const DRAIN_POLL_MS = 20
/** While this many large answers wait to be encoded, reading stops. */
const MAX_LARGE_ANSWERS = 8
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008
/** RFC 6455, section 7.4.1, and the registry it founded. */
const TRY_AGAIN_LATER = 1013
const RATE_WINDOW_MS = 1_000

const reading = new ReadThrottle()

type SocketMessage = Record<string, unknown>

interface ReceivedMessage {
  readonly data: Buffer
  readonly binary: boolean
  /** Releases the memory of the message. */
  readonly release: () => void
}

export class SocketConnection {
  readonly app: AppContext
  readonly followers: JobFollowers
  readonly subscriptions: JobSubscriptions
  readonly chats: ChatFollowers
  readonly inferences = new ConnectionInferences()
  readonly command_queue = new KeyedQueue()
  readonly large_answers = new AsyncMutex()
  readonly reader: ResponseReader
  readonly #channel: SocketChannel
  #principal: Principal
  /** The share of messages in the main thread, like that of runs: many small messages block it as a large one does. */
  readonly #timeSlice: TimeSlice
  readonly #ws: WebSocket
  readonly #timeouts: SocketTimeouts
  readonly #closed = new AbortController()
  #mode: FrameMode = 'binary'
  readonly #messageMemory: MessageMemory
  readonly #pendingCommands = new PendingCommands()
  readonly #inbox: ReceivedMessage[] = []
  /** The data of the last unanswered ping. */
  #ping: Buffer | null = null
  /** The number of active pauses. */
  #pauseCount = 0
  #isProcessing = false
  #draining: Promise<void> | null = null
  /** Unsent bytes of large frames. */
  #large_unsent = 0
  /** Unsent bytes of small frames, as accounted. */
  #small_held = 0
  #windowStart = 0
  #windowCount = 0

  constructor(
    { ws, wire }: WiredSocket,
    app: AppContext,
    principal: Principal,
    timeouts: SocketTimeouts,
    channel: SocketChannel,
  ) {
    this.#channel = channel
    if (channel.text_only) this.#mode = 'text'
    this.#ws = ws
    this.#timeouts = timeouts
    this.app = app
    this.#principal = principal
    this.#timeSlice = new TimeSlice(userShareKey(principal))
    this.reader = app.transport.response_buffers.createReader(userShareKey(principal), () => this.#cutAsReader())
    this.followers = new JobFollowers(this)
    this.subscriptions = new JobSubscriptions(this)
    this.chats = new ChatFollowers(this)
    this.#messageMemory = new MessageMemory({
      received: app.transport.payloads.received,
      owner: () => userShareKey(this.#principal),
      max_message_bytes: app.config.ws_max_message_bytes,
      pause: () => this.#pause(),
      resume: () => this.#resume(),
      refuse: () => this.cut(TRY_AGAIN_LATER, 'no memory for large messages at the moment'),
    })
    // Before the listener of the library, which may find the end of a message in the bytes.
    wire.prependListener('data', (piece: Buffer) => this.#messageMemory.addBytes(piece.length))
    // After the listener of the library, which parses the bytes.
    const throttled = { pause: () => this.#pause(), resume: () => this.#resume() }
    reading.add(throttled)
    wire.on('data', () => reading.recordRead(throttled))
    const keepAlive = new SocketKeepAlive({ ws, wire }, (frame) => this.send(frame), app.platform, timeouts)
    ws.on('message', (data, binary) => this.#receive(data, binary))
    ws.on('ping', (data) => this.#onPing(data))
    ws.on('pong', (data) => this.#messageMemory.subtractControlFrame(data.length))
    ws.on('error', (error) => app.log.debug({ err: error }, 'a socket failed'))
    ws.once('close', () => {
      keepAlive.stop()
      reading.remove(throttled)
      this.#messageMemory.endMessage()()
      this.reader.end()
      this.#closed.abort()
    })
  }

  /** Aborts when the socket is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  get principal(): Principal {
    return this.#principal
  }

  /** Replaces the principal: the same caller with other rights. */
  setPrincipal(principal: Principal): void {
    this.#principal = principal
  }

  set mode(mode: FrameMode) {
    this.#mode = mode
  }

  /** Sends a frame in the present mode; without effect on a closed socket. `common`: other connections are sent the same object. */
  send(frame: object, common = false): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#write(this.#encode(frame, common))
  }

  /** Whether a frame takes long to encode, and the socket is open. */
  isLarge(frame: object): boolean {
    return this.#ws.readyState === this.#ws.OPEN && isLargeFrame(frame)
  }

  /**
   * Encodes a large frame in time slices, and returns a function that sends it. Connections that send the same object at the same time share the
   * encoding.
   */
  encodeLarge(frame: object): Promise<() => void> {
    const mode = this.#mode
    return encodeLargeFrame(this.app.schedulers.slices, this.reader, frame, mode).then(
      (bytes) => () => {
        if (this.#mode !== mode) this.send(frame)
        else if (this.#ws.readyState === this.#ws.OPEN) this.#write(bytes)
      },
      (error: unknown) => () => this.send(this.#stripValues(frame, error)),
    )
  }

  async holdLarge(frame: object): Promise<() => void> {
    return this.reader.share(
      frame,
      await estimateContainerBytes(frame, this.app.schedulers.slices, this.reader.owner, this.reader),
    )
  }

  /** Accounts for unsent bytes: for each large frame, which other connections may share, and for all small frames together. */
  #write(bytes: Uint8Array): void {
    const binary = this.#mode === 'binary'
    if (bytes.length > LARGE_RESPONSE_BYTES) {
      const release = this.reader.share(bytes, bytes.length)
      this.#large_unsent += bytes.length
      this.#ws.send(bytes, { binary }, () => {
        this.#large_unsent -= bytes.length
        release()
        this.#onSent()
      })
    } else if (this.#ws.bufferedAmount > LARGE_RESPONSE_BYTES) {
      this.#ws.send(bytes, { binary }, this.#onSent)
      this.#accountSmallFrames()
    } else this.#ws.send(bytes, { binary })
  }

  readonly #onSent = (): void => {
    this.reader.took()
    this.#accountSmallFrames()
  }

  #accountSmallFrames(): void {
    const small = Math.max(0, this.#ws.bufferedAmount - this.#large_unsent)
    const held = small > LARGE_RESPONSE_BYTES ? small : 0
    const before = this.#small_held
    this.#small_held = held
    this.reader.adjust(held - before)
  }

  /** The account cuts this reader, since too much is held. Pending work for it stops. */
  #cutAsReader(): void {
    this.#closed.abort()
    this.cut(TRY_AGAIN_LATER, 'try again later')
  }

  /**
   * Encodes a frame; if its values cannot be encoded, without them.
   * @throws the encoder's error for a frame without values
   */
  #encode(frame: object, common: boolean): Uint8Array {
    try {
      return encodeSocketFrame(frame, this.#mode, common)
    } catch (error) {
      return encodeSocketFrame(this.#stripValues(frame, error), this.#mode, false)
    }
  }

  #stripValues(frame: object, error: unknown): object {
    const stripped = stripFrameValues(frame)
    if (stripped === null) throw error
    this.app.log.error({ err: error }, 'the values of a frame could not be encoded')
    return stripped
  }

  /** Whether so much is unsent that frames that are not durable are dropped. */
  get congested(): boolean {
    return !this.closed.aborted && this.#ws.bufferedAmount > HIGH_WATER_BYTES
  }

  /** Waits until the peer has read enough. All waiters share the wait, and continue in their order. */
  drained(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null
    })
    return this.#draining
  }

  /** Disconnects a peer that does not read enough in time; its jobs run on. */
  async #drain(): Promise<void> {
    const deadline = performance.now() + this.#timeouts.drain_ms
    while (this.congested && !this.closed.aborted) {
      if (performance.now() > deadline) return this.#ws.close(GOING_AWAY, 'the client does not read')
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS))
    }
  }

  /** Sends the ends of followed jobs, closes the socket, and cuts the connection if that takes too long. */
  close(code: number, reason: string): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.#ws.terminate(), this.#timeouts.close_timeout_ms)
      this.#ws.once('close', () => {
        clearTimeout(cut)
        resolve()
      })
      if (this.#ws.readyState === this.#ws.CLOSED) {
        clearTimeout(cut)
        resolve()
      } else void this.#finishDelivery().then(() => this.#ws.close(code, reason))
    })
  }

  async #finishDelivery(): Promise<void> {
    await this.followers.whenFinished()
    await this.subscriptions.whenFinished()
    await this.chats.whenFinished()
  }

  /** Closes at once, and cuts the connection if the peer does not close in time. Its jobs run on. */
  cut(code: number, reason: string): void {
    const timer = setTimeout(() => this.#ws.terminate(), this.#timeouts.close_timeout_ms)
    this.#ws.once('close', () => clearTimeout(timer))
    this.#ws.close(code, reason)
  }

  /**
   * Answers only the last ping of a turn of the event loop (RFC 6455, section 5.5.3): a packet may hold thousands. A peer that does not read gets no
   * pongs, which would pile up.
   */
  #onPing(data: Buffer): void {
    this.#messageMemory.subtractControlFrame(data.length)
    if (this.#ping === null) setImmediate(() => this.#sendPong())
    this.#ping = data
  }

  #sendPong(): void {
    if (!this.congested) this.#ws.pong(this.#ping!)
    this.#ping = null
  }

  #receive(data: RawData, binary: boolean): void {
    const release = this.#messageMemory.endMessage()
    // A closing socket still receives messages that were on their way.
    if (this.#ws.readyState !== this.#ws.OPEN) return release()
    if (this.#isOverRateLimit()) {
      release()
      return this.cut(POLICY_VIOLATION, 'too many messages')
    }
    this.#inbox.push({ data: data as Buffer, binary, release })
    if (!this.#isProcessing) void this.#processInbox()
  }

  /** Processes messages one by one, each when earlier answers fit into the buffer: a peer that does not read its answers is not read from. */
  async #processInbox(): Promise<void> {
    this.#isProcessing = true
    for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
      if (this.#timeSlice.isUsedUp(performance.now())) await this.#waitForTurn()
      if (this.#ws.readyState === this.#ws.OPEN) {
        if (next.data.length > LARGE_PAYLOAD_BYTES) await this.#processLargeMessage(next)
        else this.#processMessage(next)
      }
      next.release()
      await this.#waitForAnswers()
      if (this.#pendingCommands.isFull) await this.#waitForCommands()
    }
    this.#isProcessing = false
  }

  #pause(): void {
    if (this.#pauseCount++ === 0) this.#ws.pause()
  }

  #resume(): void {
    if (--this.#pauseCount === 0) this.#ws.resume()
  }

  #processMessage({ data, binary }: ReceivedMessage): void {
    try {
      this.#requireText(binary)
      const message = decodeFrame(data, binary)
      const work = dispatchMessage(this.#channel, this, message, () => findInexactValues(message, data, binary))
      if (work) this.#pendingCommands.add(data.length, work)
    } catch (error) {
      this.#sendError(error)
    }
  }

  /** Validates a large frame in a worker and parses it in time slices. Until it is dispatched, reading stops. */
  async #processLargeMessage({ data, binary }: ReceivedMessage): Promise<void> {
    this.#pause()
    try {
      this.#requireText(binary)
      const owner = userShareKey(this.#principal)
      const received = { channel: this.#channel.name, binary, bytes: data }
      const { verdict, bytes } = await this.app.transport.payloads.validateFrame(owner, received)
      if (verdict.kind === 'unreadable') throw new FrameDecodeError(verdict.message)
      const { head, problems, inexact } = verdict
      const info = acceptCommand(this.#channel, this, head, () => (problems.length > 0 ? problems : inexact))
      if (!info) return
      const release = await this.#reserveMemory(owner, head as SocketMessage, info, verdict.memory_bytes)
      if (!release) return
      const message = await this.#parse(owner, { data: bytes, binary }).catch((error) => {
        release()
        throw error
      })
      // Jobs and turns may keep parts of the message.
      this.app.transport.payloads.memory.releaseOnCollection(findLargestPart(message), release)
      // The credential may have ended meanwhile.
      if (this.#ws.readyState === this.#ws.OPEN) executeCommand(this.#channel, this, message, info)
    } catch (error) {
      this.#sendError(error)
    } finally {
      this.#resume()
    }
  }

  #parse(owner: string, { data, binary }: Pick<ReceivedMessage, 'data' | 'binary'>): Promise<SocketMessage> {
    const steps = binary ? decodeMessagePackSteps(data) : parseJsonSteps(data)
    return this.app.schedulers.slices.run(owner, makeMeasuredSteps<unknown>(steps)) as Promise<SocketMessage>
  }

  /** Null if there is no memory in time; the command is then refused. */
  async #reserveMemory(
    owner: string,
    head: SocketMessage,
    info: CommandInfo,
    bytes: number,
  ): Promise<(() => void) | null> {
    try {
      return await this.app.transport.payloads.memory.take(owner, bytes)
    } catch (error) {
      refuseUnreadableCommand(this, head, info, toServiceError(error))
      return null
    }
  }

  #requireText(binary: boolean): void {
    if (binary && this.#channel.text_only) throw new FrameDecodeError('this socket takes JSON in text frames')
  }

  #sendError(error: unknown): void {
    const isTooLarge = error instanceof ServiceError && error.code === 'REQUEST_TOO_LARGE'
    if (error instanceof FrameDecodeError || isTooLarge)
      this.send({ error: 'invalid_frame', code: 'INVALID_REQUEST', message: error.message })
    else {
      this.app.log.error({ err: error }, 'a message could not be dispatched')
      const { code, publicMessage: message } = toServiceError(error)
      this.send({ type: 'error', code, message })
    }
  }

  /** Waits for a turn of the main thread, and pauses reading meanwhile. */
  async #waitForTurn(): Promise<void> {
    this.#pause()
    await this.#timeSlice.waitForTurn()
    this.#resume()
  }

  /** Waits until some commands are done: further ones would only wait in memory. */
  async #waitForCommands(): Promise<void> {
    this.#pause()
    await this.#pendingCommands.waitForCapacity()
    this.#resume()
  }

  async #waitForAnswers(): Promise<void> {
    const { large_answers } = this
    if (!this.congested && large_answers.pending < MAX_LARGE_ANSWERS) return
    this.#pause()
    await this.drained()
    if (large_answers.pending >= MAX_LARGE_ANSWERS) await large_answers.idle
    this.#resume()
  }

  #isOverRateLimit(): boolean {
    const { ws_rate_limit_disabled, ws_rate_limit_max } = this.app.config
    if (ws_rate_limit_disabled) return false
    const now = this.app.platform.now()
    const elapsed = now - this.#windowStart
    // A clock that was set back also begins a window.
    if (elapsed >= RATE_WINDOW_MS || elapsed < 0) {
      this.#windowStart = now
      this.#windowCount = 0
    }
    this.#windowCount++
    return this.#windowCount > ws_rate_limit_max
  }
}

/** The part of a message that lives as long as its large values: the parameters of a run outlive the message. */
function findLargestPart(message: SocketMessage): object {
  const { data } = message
  const { params } = (data ?? {}) as SocketMessage
  return [params, data].find((part): part is object => typeof part === 'object' && part !== null) ?? message
}
