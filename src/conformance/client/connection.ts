// One socket of the client, as the reference server sees it: it sends, and it can break in several ways.
import type { WebSocket } from 'ws'
import { PROTOCOL_PING, type Transcript } from './transcript.ts'
import { decodeFrame, encodeFrame, type Fields, type Mode } from './wire.ts'

/** What was written gets so long to arrive before a connection breaks. */
const FLUSH_MS = 15

export interface ConnectionEvents {
  /** Counts what has come; false where it is too much. */
  take(bytes: number, where: string): boolean
  frame(connection: Connection, frame: Fields, entry: number): void
  /** A frame that cannot be read. */
  unreadable(connection: Connection, entry: number): void
  pong(connection: Connection): void
}

export class Connection {
  readonly id: number
  /** The encoding of what the server sends. */
  mode: Mode = 'binary'
  readonly #ws: WebSocket
  readonly #transcript: Transcript
  readonly #decorate: (frame: Fields) => Fields
  #broken = false

  constructor(
    id: number,
    ws: WebSocket,
    parts: { transcript: Transcript; events: ConnectionEvents; decorate: (frame: Fields) => Fields },
  ) {
    this.id = id
    this.#ws = ws
    this.#transcript = parts.transcript
    this.#decorate = parts.decorate
    parts.transcript.add('note', this.where, 'opened')
    ws.on('message', (data, binary) => this.#receive(data as Buffer, binary, parts.events))
    ws.on('ping', (data) => {
      if (!this.#broken) ws.pong(data)
    })
    ws.on('pong', () => parts.events.pong(this))
    ws.on('close', (code) => parts.transcript.add('note', this.where, `closed with ${code}`))
    ws.on('error', () => {})
  }

  get where(): string {
    return `socket ${this.id}`
  }

  get open(): boolean {
    return !this.#broken && this.#ws.readyState === this.#ws.OPEN
  }

  send(frame: Fields): void {
    if (!this.open) return
    const decorated = this.#decorate(frame)
    this.#transcript.add('to_client', this.where, this.mode === 'text' ? 'text frame' : 'binary frame', decorated)
    this.#ws.send(encodeFrame(decorated, this.mode))
  }

  ping(): void {
    if (!this.open) return
    this.#transcript.add('to_client', this.where, PROTOCOL_PING)
    this.#ws.ping()
  }

  /** Breaks without a closing handshake, once what was sent has had the time to arrive. */
  drop(): void {
    if (this.#broken) return
    this.#broken = true
    this.#transcript.add('note', this.where, 'the connection breaks')
    setTimeout(() => this.#ws.terminate(), FLUSH_MS)
  }

  close(code: number, reason: string): void {
    if (this.#broken) return
    this.#broken = true
    this.#transcript.add('to_client', this.where, `close ${code} ${reason}`)
    this.#ws.close(code, reason)
  }

  /** Stays open, and neither reads nor writes any more. */
  silence(): void {
    this.#broken = true
    this.#transcript.add('note', this.where, 'the connection falls silent')
    this.#ws.pause()
  }

  end(): void {
    this.#broken = true
    this.#ws.terminate()
  }

  #receive(data: Buffer, binary: boolean, events: ConnectionEvents): void {
    if (!events.take(data.byteLength, this.where)) return this.end()
    const frame = decodeFrame(data, binary)
    const what = `${binary ? 'binary' : 'text'} frame`
    const content = frame ?? `${data.byteLength} bytes that cannot be read`
    const entry = this.#transcript.add('from_client', this.where, what, content)
    if (this.#broken) return
    if (frame === null) events.unreadable(this, entry)
    else events.frame(this, frame, entry)
  }
}
