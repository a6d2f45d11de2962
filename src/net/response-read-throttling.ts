// What servers answer, taken apart a little at a time. The library takes apart at once what it reads at once, and a few kilobytes may be thousands of chunks,
// of trailers or of heads of interim answers. Answers of many servers may come in one turn of the event loop.
import type { Socket } from 'node:net'
import { type PausableConnection, ReadThrottle } from './read-throttle.ts'

/** Bytes that the library is given at once. */
const SLICE_BYTES = 8_192

const readThrottle = new ReadThrottle()

/** Has whoever calls `read` on a connection, at `readable`, get it in pieces, and wait where all connections have used their time in this turn. */
export function throttleResponseReads(socket: Socket): void {
  const line = new ThrottledResponseSocket(socket)
  readThrottle.add(line)
  socket.once('close', () => readThrottle.remove(line))
}

/** What waits is as if it had come later. */
class ThrottledResponseSocket implements PausableConnection {
  readonly #socket: Socket
  readonly #read: Socket['read']
  #isPaused = false
  #hasUnreadBytes = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#read = socket.read.bind(socket)
    // With a size Node itself asks.
    socket.read = (size?: number) => (size === undefined ? this.#readSlice() : this.#read(size))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    // Not before all others may be read again: it may be paused once more meanwhile.
    if (this.#hasUnreadBytes) queueMicrotask(this.#emitReadable)
  }

  #readSlice(): Buffer | null {
    const { readableLength, destroyed } = this.#socket
    // Where an answer has more headers than it may, the library goes on to its last byte: the rest is nobody's.
    if (destroyed) return null
    if (readableLength > 0) readThrottle.recordRead(this)
    this.#hasUnreadBytes = this.#isPaused && readableLength > 0
    if (this.#hasUnreadBytes) return null
    return readableLength > SLICE_BYTES ? this.#read(SLICE_BYTES) : this.#read()
  }

  readonly #emitReadable = (): void => {
    if (!this.#socket.destroyed) this.#socket.emit('readable')
  }
}
