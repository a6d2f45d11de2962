// Throttles how fast the HTTP library parses answers. The library parses at once everything that it reads at once. A few kilobytes may hold
// thousands of chunks, trailers or heads of interim answers. Answers of many servers may come in one turn of the event loop.
import type { Socket } from 'node:net'
import { type PausableConnection, ReadThrottle } from './read-throttle.ts'

/** Bytes that the library gets at once. */
const SLICE_BYTES = 8_192

const readThrottle = new ReadThrottle()

/** Makes `read`, called at `readable`, return slices. Reads wait where all connections have used their time in this turn. */
export function throttleResponseReads(socket: Socket): void {
  const line = new ThrottledResponseSocket(socket)
  readThrottle.add(line)
  socket.once('close', () => readThrottle.remove(line))
}

/** Bytes that wait appear to the library as if they had come later. */
class ThrottledResponseSocket implements PausableConnection {
  readonly #socket: Socket
  readonly #read: Socket['read']
  #isPaused = false
  #hasUnreadBytes = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#read = socket.read.bind(socket)
    // Node itself calls `read` with a size.
    socket.read = (size?: number) => (size === undefined ? this.#readSlice() : this.#read(size))
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    // All other connections may be read first. This connection may be paused again meanwhile.
    if (this.#hasUnreadBytes) queueMicrotask(this.#emitReadable)
  }

  #readSlice(): Buffer | null {
    const { readableLength, destroyed } = this.#socket
    // Where an answer has too many headers, the library would still parse the rest. The rest is discarded.
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
