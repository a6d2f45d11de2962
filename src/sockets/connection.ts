// One open socket: what comes in is decoded, limited and dispatched; what goes out is encoded and held back where the peer is slow.
// What commands mean is in the channel's files.

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

/** Above this many bytes in the outbound buffer provisional frames are dropped, followers wait, and nothing more is read. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const DRAIN_POLL_MS = 20
/** While so many large answers wait to be made, nothing more is read. */
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
  /** Gives back the room of its bytes. */
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
  /** Messages have their part of the thread's time, as runs do: many small ones at once hold it as one large one does. */
  readonly #timeSlice: TimeSlice
  readonly #ws: WebSocket
  readonly #timeouts: SocketTimeouts
  readonly #closed = new AbortController()
  #mode: FrameMode = 'binary'
  readonly #messageMemory: MessageMemory
  readonly #pendingCommands = new PendingCommands()
  readonly #inbox: ReceivedMessage[] = []
  /** What the last ping brought that is not answered yet. */
  #ping: Buffer | null = null
  /** How many have stopped the reading and not gone on. */
  #pauseCount = 0
  #isProcessing = false
  #draining: Promise<void> | null = null
  /** Bytes of large frames that are not taken yet. */
  #large_unsent = 0
  /** Bytes of others, as the account of held answers was told of them. */
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
    this.reader = app.held.createReader(userShareKey(principal), () => this.#cutAsReader())
    this.followers = new JobFollowers(this)
    this.subscriptions = new JobSubscriptions(this)
    this.chats = new ChatFollowers(this)
    this.#messageMemory = new MessageMemory({
      received: app.payloads.received,
      owner: () => userShareKey(this.#principal),
      max_message_bytes: app.config.ws_max_message_bytes,
      pause: () => this.#pause(),
      resume: () => this.#resume(),
      refuse: () => this.cut(TRY_AGAIN_LATER, 'there is no room for large messages at the moment'),
    })
    // Before the library, which may find the end of a message in it.
    wire.prependListener('data', (piece: Buffer) => this.#messageMemory.addBytes(piece.length))
    // Behind the library, which takes it apart.
    const line = { pause: () => this.#pause(), resume: () => this.#resume() }
    reading.add(line)
    wire.on('data', () => reading.recordRead(line))
    const keepAlive = new SocketKeepAlive({ ws, wire }, (frame) => this.send(frame), app.platform, timeouts)
    ws.on('message', (data, binary) => this.#receive(data, binary))
    ws.on('ping', (data) => this.#onPing(data))
    ws.on('pong', (data) => this.#messageMemory.subtractControlFrame(data.length))
    ws.on('error', (error) => app.log.debug({ err: error }, 'a socket failed'))
    ws.once('close', () => {
      keepAlive.stop()
      reading.remove(line)
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

  /** The same caller may do more or less from now on. */
  setPrincipal(principal: Principal): void {
    this.#principal = principal
  }

  set mode(mode: FrameMode) {
    this.#mode = mode
  }

  /** Sends a frame in the present mode; without effect on a closed socket. `common`: others are sent the very same object. */
  send(frame: object, common = false): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#write(this.#encode(frame, common))
  }

  /** Whether a frame takes long to be encoded, and is to be sent. */
  isLarge(frame: object): boolean {
    return this.#ws.readyState === this.#ws.OPEN && isLargeFrame(frame)
  }

  /**
   * Encodes a large frame in time slices, and gives what sends it. Those who are sent the very same object at the same time share the work.
   */
  encodeLarge(frame: object): Promise<() => void> {
    const mode = this.#mode
    return encodeLargeFrame(this.app.slices, this.reader, frame, mode).then(
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
      await estimateContainerBytes(frame, this.app.slices, this.reader.owner, this.reader),
    )
  }

  /** What waits to be taken is told to the account: each large frame, whose bytes may be those of others, and all small ones together. */
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

  /** Too much is held for those who do not read. Nothing more is made for this one. */
  #cutAsReader(): void {
    this.#closed.abort()
    this.cut(TRY_AGAIN_LATER, 'try again later')
  }

  /** A frame whose values cannot be encoded goes out without them. @throws what the encoder throws, where it has none */
  #encode(frame: object, common: boolean): Uint8Array {
    try {
      return encodeSocketFrame(frame, this.#mode, common)
    } catch (error) {
      return encodeSocketFrame(this.#stripValues(frame, error), this.#mode, false)
    }
  }

  #stripValues(frame: object, error: unknown): object {
    const bare = stripFrameValues(frame)
    if (bare === null) throw error
    this.app.log.error({ err: error }, 'the values of a frame could not be encoded')
    return bare
  }

  /** Whether so much waits to be sent that what is not durable is better dropped. */
  get congested(): boolean {
    return !this.closed.aborted && this.#ws.bufferedAmount > HIGH_WATER_BYTES
  }

  /** Waits until the peer has taken enough, with all that do: they go on in the order in which they came. */
  drained(): Promise<void> {
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null
    })
    return this.#draining
  }

  /** A peer that does not take enough in time is disconnected; its jobs run on. */
  async #drain(): Promise<void> {
    const deadline = performance.now() + this.#timeouts.drain_ms
    while (this.congested && !this.closed.aborted) {
      if (performance.now() > deadline) return this.#ws.close(GOING_AWAY, 'the client does not read')
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS))
    }
  }

  /** Tells the ends of the jobs that it follows, says goodbye, and cuts the connection when that takes too long. */
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

  /** Closes at once, and cuts the connection when the peer does not close in time. Its jobs run on. */
  cut(code: number, reason: string): void {
    const late = setTimeout(() => this.#ws.terminate(), this.#timeouts.close_timeout_ms)
    this.#ws.once('close', () => clearTimeout(late))
    this.#ws.close(code, reason)
  }

  /**
   * Of the pings of one turn of the event loop only the last is answered (RFC 6455, section 5.5.3): thousands of them come in one packet. A peer that does
   * not read gets no more answers: they would pile up.
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
    const leave = this.#messageMemory.endMessage()
    // A socket that says goodbye still hears what was on its way.
    if (this.#ws.readyState !== this.#ws.OPEN) return leave()
    if (this.#isOverRateLimit()) {
      leave()
      return this.cut(POLICY_VIOLATION, 'too many messages')
    }
    this.#inbox.push({ data: data as Buffer, binary, release: leave })
    if (!this.#isProcessing) void this.#processInbox()
  }

  /** One message after the other, each when the answers before it have room: a peer that asks and does not read is not heard. */
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

  /** A large frame is judged in a thread and parsed in time slices. Until it is dispatched nothing more is read. */
  async #processLargeMessage({ data, binary }: ReceivedMessage): Promise<void> {
    this.#pause()
    try {
      this.#requireText(binary)
      const owner = userShareKey(this.#principal)
      const of = { channel: this.#channel.name, binary, bytes: data }
      const { verdict, bytes } = await this.app.payloads.validateFrame(owner, of)
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
      // Jobs and turns keep what it holds for as long as they need it.
      this.app.payloads.memory.releaseOnCollection(findLargestPart(message), release)
      // Whose credential has ended meanwhile does nothing more.
      if (this.#ws.readyState === this.#ws.OPEN) executeCommand(this.#channel, this, message, info)
    } catch (error) {
      this.#sendError(error)
    } finally {
      this.#resume()
    }
  }

  #parse(owner: string, { data, binary }: Pick<ReceivedMessage, 'data' | 'binary'>): Promise<SocketMessage> {
    const steps = binary ? decodeMessagePackSteps(data) : parseJsonSteps(data)
    return this.app.slices.run(owner, makeMeasuredSteps<unknown>(steps)) as Promise<SocketMessage>
  }

  /** Null where there is none in time; then the command is refused. */
  async #reserveMemory(
    owner: string,
    head: SocketMessage,
    info: CommandInfo,
    bytes: number,
  ): Promise<(() => void) | null> {
    try {
      return await this.app.payloads.memory.take(owner, bytes)
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

  /** Waits for time of the thread, and reads nothing more meanwhile. */
  async #waitForTurn(): Promise<void> {
    this.#pause()
    await this.#timeSlice.waitForTurn()
    this.#resume()
  }

  /** Waits until some commands are carried out: others would only wait in memory for their turn. */
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
    // A clock that was set back begins a window as well.
    if (elapsed >= RATE_WINDOW_MS || elapsed < 0) {
      this.#windowStart = now
      this.#windowCount = 0
    }
    this.#windowCount++
    return this.#windowCount > ws_rate_limit_max
  }
}

/** The part of a message that lives as long as anything large in it: the parameters of a run outlive the message. */
function findLargestPart(message: SocketMessage): object {
  const { data } = message
  const { params } = (data ?? {}) as SocketMessage
  return [params, data].find((one): one is object => typeof one === 'object' && one !== null) ?? message
}
