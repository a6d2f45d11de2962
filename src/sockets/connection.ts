// An open socket: what it follows, its identity, its pings and its end. Its inbox executes messages, and its output sends frames.
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { userShareKey } from '../db/owner-scope.ts'
import { KeyedQueue } from '../shared/keyed-queue.ts'
import { ChatFollowers } from './chat-followers.ts'
import type { CommandConnection } from './commands/command-connection.ts'
import { ConnectionInferences } from './connection-inferences.ts'
import { FrameOutput } from './frames/frame-output.ts'
import { AsyncMutex } from './frames/large-frames.ts'
import { JobFollowers } from './jobs/followers.ts'
import { JobSubscriptions } from './jobs/subscriptions.ts'
import { SocketKeepAlive, type SocketTimeouts, type WiredSocket } from './keep-alive.ts'
import { MessageInbox } from './messages/message-inbox.ts'
import type { SocketChannel } from './socket-channel.ts'

export class SocketConnection extends FrameOutput implements CommandConnection {
  readonly followers: JobFollowers
  readonly subscriptions: JobSubscriptions
  readonly chats: ChatFollowers
  readonly inferences = new ConnectionInferences()
  readonly command_queue = new KeyedQueue()
  readonly large_answers = new AsyncMutex()
  #principal: Principal
  /** The data of the last unanswered ping. */
  #ping: Buffer | null = null

  constructor(
    wired: WiredSocket,
    app: AppContext,
    principal: Principal,
    timeouts: SocketTimeouts,
    channel: SocketChannel,
  ) {
    const { ws } = wired
    super(ws, app, userShareKey(principal), timeouts, channel.text_only ? 'text' : 'binary')
    this.#principal = principal
    this.followers = new JobFollowers(this)
    this.subscriptions = new JobSubscriptions(this)
    this.chats = new ChatFollowers(this)
    const inbox = new MessageInbox(wired, this, channel)
    const keepAlive = new SocketKeepAlive(wired, (frame) => this.send(frame), app.platform, timeouts)
    ws.on('ping', (data) => this.#answerPing(data))
    ws.on('error', (error) => app.log.debug({ err: error }, 'a socket failed'))
    ws.once('close', () => {
      keepAlive.stop()
      inbox.end()
      this.endOutput()
    })
  }

  get principal(): Principal {
    return this.#principal
  }

  /** Replaces the principal: the same caller with other rights. */
  setPrincipal(principal: Principal): void {
    this.#principal = principal
  }

  /**
   * Answers only the last ping of a turn of the event loop (RFC 6455, section 5.5.3): a packet may hold thousands. A peer that does not read gets no
   * pongs, which would pile up.
   */
  #answerPing(data: Buffer): void {
    if (this.#ping === null) setImmediate(() => this.#sendPong())
    this.#ping = data
  }

  #sendPong(): void {
    if (!this.congested) this.ws.pong(this.#ping!)
    this.#ping = null
  }

  /** Sends the ends of followed jobs, closes the socket, and cuts the connection if that takes too long. */
  close(code: number, reason: string): Promise<void> {
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.ws.terminate(), this.timeouts.close_timeout_ms)
      this.ws.once('close', () => {
        clearTimeout(cut)
        resolve()
      })
      if (this.ws.readyState === this.ws.CLOSED) {
        clearTimeout(cut)
        resolve()
      } else void this.#finishDelivery().then(() => this.ws.close(code, reason))
    })
  }

  async #finishDelivery(): Promise<void> {
    await this.followers.whenFinished()
    await this.subscriptions.whenFinished()
    await this.chats.whenFinished()
  }
}
