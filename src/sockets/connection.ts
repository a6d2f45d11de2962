// One open socket: what comes in is decoded, limited and dispatched; what goes out is encoded and held back where the peer is slow.
// What commands mean is in the channel's files.

import type { RawData, WebSocket } from 'ws'
import type { CommandInfo } from '../../generated/messages.ts'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { userKey } from '../db/scope.ts'
import { measuredSteps } from '../engine/measure.ts'
import { Slice } from '../engine/slice.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { LARGE_ANSWER, type Reader, weigh } from '../held-answers.ts'
import { KeyedQueue } from '../keyed-queue.ts'
import { ReadingTurn } from '../net/reading-turn.ts'
import { decodeFrame, InvalidFrame, inexactIn } from '../payloads/frames.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import { decodeInParts } from '../payloads/message-pack-parts.ts'
import { LARGE_PAYLOAD } from '../payloads/payload-judge.ts'
import { Asking } from './asking.ts'
import { withoutValues } from './bare.ts'
import type { Channel } from './channel.ts'
import { ChatFollowers } from './chat-followers.ts'
import { encode, type Mode } from './codec.ts'
import { accepted, carry, dispatch, refuseUnread } from './dispatch.ts'
import { Followers } from './followers.ts'
import { KeepAlive, type SocketTimes, type Wired } from './keep-alive.ts'
import { encoded, isLargeFrame, OneAtATime } from './large-frames.ts'
import { MessageRoom } from './message-room.ts'
import { Subscriptions } from './subscriptions.ts'
import { UnderWay } from './under-way.ts'

/** Above this many bytes in the outbound buffer provisional frames are dropped, followers wait, and nothing more is read. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const DRAIN_POLL_MS = 20
/** While so many large answers wait to be made, nothing more is read. */
const MOST_LARGE_ANSWERS = 8
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008
/** RFC 6455, section 7.4.1, and the registry it founded. */
const TRY_AGAIN_LATER = 1013
const RATE_WINDOW_MS = 1_000

const reading = new ReadingTurn()

type Message = Record<string, unknown>

interface Incoming {
  readonly data: Buffer
  readonly binary: boolean
  /** Gives back the room of its bytes. */
  readonly leave: () => void
}

export class Connection {
  readonly app: AppContext
  readonly followers: Followers
  readonly subscriptions: Subscriptions
  readonly chats: ChatFollowers
  readonly asking = new Asking()
  readonly lanes = new KeyedQueue()
  readonly large_answers = new OneAtATime()
  readonly reader: Reader
  readonly #channel: Channel
  #principal: Principal
  /** Messages have their part of the thread's time, as runs do: many small ones at once hold it as one large one does. */
  readonly #slice: Slice
  readonly #ws: WebSocket
  readonly #times: SocketTimes
  readonly #closed = new AbortController()
  #mode: Mode = 'binary'
  readonly #room: MessageRoom
  readonly #under_way = new UnderWay()
  readonly #inbox: Incoming[] = []
  /** What the last ping brought that is not answered yet. */
  #ping: Buffer | null = null
  /** How many have stopped the reading and not gone on. */
  #pauses = 0
  #taking = false
  #draining: Promise<void> | null = null
  /** Bytes of large frames that are not taken yet. */
  #large_unsent = 0
  /** Bytes of others, as the account of held answers was told of them. */
  #small_held = 0
  #windowStart = 0
  #windowCount = 0

  constructor({ ws, wire }: Wired, app: AppContext, principal: Principal, times: SocketTimes, channel: Channel) {
    this.#channel = channel
    if (channel.text_only) this.#mode = 'text'
    this.#ws = ws
    this.#times = times
    this.app = app
    this.#principal = principal
    this.#slice = new Slice(userKey(principal))
    this.reader = app.held.reader(userKey(principal), () => this.#cutAsReader())
    this.followers = new Followers(this)
    this.subscriptions = new Subscriptions(this)
    this.chats = new ChatFollowers(this)
    this.#room = new MessageRoom({
      received: app.payloads.received,
      owner: () => userKey(this.#principal),
      largest: app.config.ws_max_message_bytes,
      pause: () => this.#pause(),
      resume: () => this.#resume(),
      refuse: () => this.cut(TRY_AGAIN_LATER, 'there is no room for large messages at the moment'),
    })
    // Before the library, which may find the end of a message in it.
    wire.prependListener('data', (piece: Buffer) => this.#room.came(piece.length))
    // Behind the library, which takes it apart.
    const line = { pause: () => this.#pause(), resume: () => this.#resume() }
    reading.add(line)
    wire.on('data', () => reading.took(line))
    const keepAlive = new KeepAlive({ ws, wire }, (frame) => this.send(frame), app.platform, times)
    ws.on('message', (data, binary) => this.#receive(data, binary))
    ws.on('ping', (data) => this.#pinged(data))
    ws.on('pong', (data) => this.#room.control(data.length))
    ws.on('error', (error) => app.log.debug({ err: error }, 'a socket failed'))
    ws.once('close', () => {
      keepAlive.stop()
      reading.remove(line)
      this.#room.ended()()
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
  authorise(principal: Principal): void {
    this.#principal = principal
  }

  set mode(mode: Mode) {
    this.#mode = mode
  }

  /** Sends a frame in the present mode; without effect on a closed socket. `common`: others are sent the very same object. */
  send(frame: object, common = false): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#write(this.#encoded(frame, common))
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
    return encoded(this.app.slices, this.reader, frame, mode).then(
      (bytes) => () => {
        if (this.#mode !== mode) this.send(frame)
        else if (this.#ws.readyState === this.#ws.OPEN) this.#write(bytes)
      },
      (error: unknown) => () => this.send(this.#bare(frame, error)),
    )
  }

  async holdLarge(frame: object): Promise<() => void> {
    return this.reader.share(frame, await weigh(frame, this.app.slices, this.reader.owner, this.reader))
  }

  /** What waits to be taken is told to the account: each large frame, whose bytes may be those of others, and all small ones together. */
  #write(bytes: Uint8Array): void {
    const binary = this.#mode === 'binary'
    if (bytes.length > LARGE_ANSWER) {
      const release = this.reader.share(bytes, bytes.length)
      this.#large_unsent += bytes.length
      this.#ws.send(bytes, { binary }, () => {
        this.#large_unsent -= bytes.length
        release()
        this.#taken()
      })
    } else if (this.#ws.bufferedAmount > LARGE_ANSWER) {
      this.#ws.send(bytes, { binary }, this.#taken)
      this.#weighSmall()
    } else this.#ws.send(bytes, { binary })
  }

  readonly #taken = (): void => {
    this.reader.took()
    this.#weighSmall()
  }

  #weighSmall(): void {
    const small = Math.max(0, this.#ws.bufferedAmount - this.#large_unsent)
    const held = small > LARGE_ANSWER ? small : 0
    const before = this.#small_held
    this.#small_held = held
    this.reader.change(held - before)
  }

  /** Too much is held for those who do not read. Nothing more is made for this one. */
  #cutAsReader(): void {
    this.#closed.abort()
    this.cut(TRY_AGAIN_LATER, 'try again later')
  }

  /** A frame whose values cannot be encoded goes out without them. @throws what the encoder throws, where it has none */
  #encoded(frame: object, common: boolean): Uint8Array {
    try {
      return encode(frame, this.#mode, common)
    } catch (error) {
      return encode(this.#bare(frame, error), this.#mode, false)
    }
  }

  #bare(frame: object, error: unknown): object {
    const bare = withoutValues(frame)
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
    const deadline = performance.now() + this.#times.drain_ms
    while (this.congested && !this.closed.aborted) {
      if (performance.now() > deadline) return this.#ws.close(GOING_AWAY, 'the client does not read')
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS))
    }
  }

  /** Tells the ends of the jobs that it follows, says goodbye, and cuts the connection when that takes too long. */
  close(code: number, reason: string): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.#ws.terminate(), this.#times.goodbye_ms)
      this.#ws.once('close', () => {
        clearTimeout(cut)
        resolve()
      })
      if (this.#ws.readyState === this.#ws.CLOSED) {
        clearTimeout(cut)
        resolve()
      } else void this.#told().then(() => this.#ws.close(code, reason))
    })
  }

  async #told(): Promise<void> {
    await this.followers.finished()
    await this.subscriptions.finished()
    await this.chats.finished()
  }

  /** Closes at once, and cuts the connection when the peer does not close in time. Its jobs run on. */
  cut(code: number, reason: string): void {
    const late = setTimeout(() => this.#ws.terminate(), this.#times.goodbye_ms)
    this.#ws.once('close', () => clearTimeout(late))
    this.#ws.close(code, reason)
  }

  /**
   * Of the pings of one turn of the event loop only the last is answered (RFC 6455, section 5.5.3): thousands of them come in one packet. A peer that does
   * not read gets no more answers: they would pile up.
   */
  #pinged(data: Buffer): void {
    this.#room.control(data.length)
    if (this.#ping === null) setImmediate(() => this.#pong())
    this.#ping = data
  }

  #pong(): void {
    if (!this.congested) this.#ws.pong(this.#ping!)
    this.#ping = null
  }

  #receive(data: RawData, binary: boolean): void {
    const leave = this.#room.ended()
    // A socket that says goodbye still hears what was on its way.
    if (this.#ws.readyState !== this.#ws.OPEN) return leave()
    if (this.#overLimit()) {
      leave()
      return this.cut(POLICY_VIOLATION, 'too many messages')
    }
    this.#inbox.push({ data: data as Buffer, binary, leave })
    if (!this.#taking) void this.#takeAll()
  }

  /** One message after the other, each when the answers before it have room: a peer that asks and does not read is not heard. */
  async #takeAll(): Promise<void> {
    this.#taking = true
    for (let next = this.#inbox.shift(); next; next = this.#inbox.shift()) {
      if (this.#slice.passed(performance.now())) await this.#turn()
      if (this.#ws.readyState === this.#ws.OPEN) {
        if (next.data.length > LARGE_PAYLOAD) await this.#takeLarge(next)
        else this.#take(next)
      }
      next.leave()
      await this.#answersGone()
      if (this.#under_way.full) await this.#less()
    }
    this.#taking = false
  }

  #pause(): void {
    if (this.#pauses++ === 0) this.#ws.pause()
  }

  #resume(): void {
    if (--this.#pauses === 0) this.#ws.resume()
  }

  #take({ data, binary }: Incoming): void {
    try {
      this.#requireText(binary)
      const message = decodeFrame(data, binary)
      const work = dispatch(this.#channel, this, message, () => inexactIn(message, data, binary))
      if (work) this.#under_way.add(data.length, work)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** A large frame is judged in a thread and parsed in time slices. Until it is dispatched nothing more is read. */
  async #takeLarge({ data, binary }: Incoming): Promise<void> {
    this.#pause()
    try {
      this.#requireText(binary)
      const owner = userKey(this.#principal)
      const of = { channel: this.#channel.name, binary, bytes: data }
      const { verdict, bytes } = await this.app.payloads.frame(owner, of)
      if (verdict.kind === 'unreadable') throw new InvalidFrame(verdict.message)
      const { head, problems, inexact } = verdict
      const info = accepted(this.#channel, this, head, () => (problems.length > 0 ? problems : inexact))
      if (!info) return
      const release = await this.#memoryFor(owner, head as Message, info, verdict.memory_bytes)
      if (!release) return
      const message = await this.#parsed(owner, { data: bytes, binary }).catch((error) => {
        release()
        throw error
      })
      // Jobs and turns keep what it holds for as long as they need it.
      this.app.payloads.memory.releaseWith(largestOf(message), release)
      // Whose credential has ended meanwhile does nothing more.
      if (this.#ws.readyState === this.#ws.OPEN) carry(this.#channel, this, message, info)
    } catch (error) {
      this.#refuse(error)
    } finally {
      this.#resume()
    }
  }

  #parsed(owner: string, { data, binary }: Pick<Incoming, 'data' | 'binary'>): Promise<Message> {
    const steps = binary ? decodeInParts(data) : parseJsonInParts(data)
    return this.app.slices.run(owner, measuredSteps<unknown>(steps)) as Promise<Message>
  }

  /** Null where there is none in time; then the command is refused. */
  async #memoryFor(owner: string, head: Message, info: CommandInfo, bytes: number): Promise<(() => void) | null> {
    try {
      return await this.app.payloads.memory.take(owner, bytes)
    } catch (error) {
      refuseUnread(this, head, info, toServiceError(error))
      return null
    }
  }

  #requireText(binary: boolean): void {
    if (binary && this.#channel.text_only) throw new InvalidFrame('this socket takes JSON in text frames')
  }

  #refuse(error: unknown): void {
    const isTooLarge = error instanceof ServiceError && error.code === 'REQUEST_TOO_LARGE'
    if (error instanceof InvalidFrame || isTooLarge)
      this.send({ error: 'invalid_frame', code: 'INVALID_REQUEST', message: error.message })
    else {
      this.app.log.error({ err: error }, 'a message could not be dispatched')
      const { code, publicMessage: message } = toServiceError(error)
      this.send({ type: 'error', code, message })
    }
  }

  /** Waits for time of the thread, and reads nothing more meanwhile. */
  async #turn(): Promise<void> {
    this.#pause()
    await this.#slice.turn()
    this.#resume()
  }

  /** Waits until some commands are carried out: others would only wait in memory for their turn. */
  async #less(): Promise<void> {
    this.#pause()
    await this.#under_way.less()
    this.#resume()
  }

  async #answersGone(): Promise<void> {
    const { large_answers } = this
    if (!this.congested && large_answers.inside < MOST_LARGE_ANSWERS) return
    this.#pause()
    await this.drained()
    if (large_answers.inside >= MOST_LARGE_ANSWERS) await large_answers.left
    this.#resume()
  }

  #overLimit(): boolean {
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
function largestOf(message: Message): object {
  const { data } = message
  const { params } = (data ?? {}) as Message
  return [params, data].find((one): one is object => typeof one === 'object' && one !== null) ?? message
}
