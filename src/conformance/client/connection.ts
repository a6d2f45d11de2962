// One socket of the client on the reference server. The server can send frames, and break the socket in several ways.
import type { WebSocket } from 'ws'
import { decodeFrame, encodeFrame, type FrameMode, type JsonMap } from './frame-codec.ts'
import { PROTOCOL_PING, type Transcript } from './transcript.ts'

/** The time in which written data arrives before a connection breaks. */
const FLUSH_MS = 15

export interface ClientConnectionListener {
  /** Counts received bytes. False where the client has sent too many. */
  countBytes(bytes: number, where: string): boolean
  onFrame(connection: ClientConnection, frame: JsonMap, entry: number): void
  /** Handles an unreadable frame. */
  onUnreadableFrame(connection: ClientConnection, entry: number): void
  onPong(connection: ClientConnection): void
}

export class ClientConnection {
  readonly id: number
  /** The encoding of frames to the client. */
  mode: FrameMode = 'binary'
  readonly #ws: WebSocket
  readonly #transcript: Transcript
  readonly #decorate: (frame: JsonMap) => JsonMap
  #isBroken = false

  constructor(
    id: number,
    ws: WebSocket,
    parts: { transcript: Transcript; events: ClientConnectionListener; decorate: (frame: JsonMap) => JsonMap },
  ) {
    this.id = id
    this.#ws = ws
    this.#transcript = parts.transcript
    this.#decorate = parts.decorate
    parts.transcript.add('note', this.label, 'opened')
    ws.on('message', (data, binary) => this.#receive(data as Buffer, binary, parts.events))
    ws.on('ping', (data) => {
      if (!this.#isBroken) ws.pong(data)
    })
    ws.on('pong', () => parts.events.onPong(this))
    ws.on('close', (code) => parts.transcript.add('note', this.label, `closed with ${code}`))
    ws.on('error', () => {})
  }

  get label(): string {
    return `socket ${this.id}`
  }

  get isOpen(): boolean {
    return !this.#isBroken && this.#ws.readyState === this.#ws.OPEN
  }

  send(frame: JsonMap): void {
    if (!this.isOpen) return
    const decorated = this.#decorate(frame)
    this.#transcript.add('to_client', this.label, this.mode === 'text' ? 'text frame' : 'binary frame', decorated)
    this.#ws.send(encodeFrame(decorated, this.mode))
  }

  ping(): void {
    if (!this.isOpen) return
    this.#transcript.add('to_client', this.label, PROTOCOL_PING)
    this.#ws.ping()
  }

  /** Breaks the connection without a closing handshake, after the sent data has had time to arrive. */
  drop(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#transcript.add('note', this.label, 'the connection breaks')
    setTimeout(() => this.#ws.terminate(), FLUSH_MS)
  }

  close(code: number, reason: string): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#transcript.add('to_client', this.label, `close ${code} ${reason}`)
    this.#ws.close(code, reason)
  }

  /** Keeps the connection open, but neither reads nor writes any more. */
  fallSilent(): void {
    this.#isBroken = true
    this.#transcript.add('note', this.label, 'the connection falls silent')
    this.#ws.pause()
  }

  terminate(): void {
    this.#isBroken = true
    this.#ws.terminate()
  }

  #receive(data: Buffer, binary: boolean, events: ClientConnectionListener): void {
    if (!events.countBytes(data.byteLength, this.label)) return this.terminate()
    const frame = decodeFrame(data, binary)
    const what = `${binary ? 'binary' : 'text'} frame`
    const content = frame ?? `${data.byteLength} unreadable bytes`
    const entry = this.#transcript.add('from_client', this.label, what, content)
    if (this.#isBroken) return
    if (frame === null) events.onUnreadableFrame(this, entry)
    else events.onFrame(this, frame, entry)
  }
}
