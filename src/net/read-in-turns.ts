// What servers answer, taken apart a little at a time. The library takes apart at once what it reads at once, and a few kilobytes may be thousands of chunks,
// of trailers or of heads of interim answers. Answers of many servers may come in one turn of the event loop.
import type { Socket } from 'node:net'
import { type Line, ReadingTurn } from './reading-turn.ts'

/** Bytes that the library is given at once. */
const PIECE = 8_192

const reading = new ReadingTurn()

/** Has whoever calls `read` on a connection, at `readable`, get it in pieces, and wait where all connections have used their time in this turn. */
export function readInTurns(socket: Socket): void {
  const line = new ReadLine(socket)
  reading.add(line)
  socket.once('close', () => reading.remove(line))
}

/** What waits is as if it had come later. */
class ReadLine implements Line {
  readonly #socket: Socket
  readonly #read: Socket['read']
  #paused = false
  #waits = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#read = socket.read.bind(socket)
    // With a size Node itself asks.
    socket.read = (size?: number) => (size === undefined ? this.#piece() : this.#read(size))
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    // Not before all others may be read again: it may be paused once more meanwhile.
    if (this.#waits) queueMicrotask(this.#goOn)
  }

  #piece(): Buffer | null {
    const { readableLength, destroyed } = this.#socket
    // Where an answer has more headers than it may, the library goes on to its last byte: the rest is nobody's.
    if (destroyed) return null
    if (readableLength > 0) reading.took(this)
    this.#waits = this.#paused && readableLength > 0
    if (this.#waits) return null
    return readableLength > PIECE ? this.#read(PIECE) : this.#read()
  }

  readonly #goOn = (): void => {
    if (!this.#socket.destroyed) this.#socket.emit('readable')
  }
}
