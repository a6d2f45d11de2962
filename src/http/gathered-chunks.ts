// Bodies in chunks of a few bytes each. Node hands over every chunk by itself, and what reads a body costs about the same for a chunk of one byte as for one
// of thousands: small ones are put together first, those that come in one turn of the event loop.
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Line, ReadingTurn } from '../net/reading-turn.ts'

/** Bytes. Larger chunks are handed on as they come. */
const SMALL = 1_024
/** How many small chunks are put together at most. Then nothing more is read in this turn. */
const MANY = 1_024
/** After so many it is looked how long they took. */
const LOOK = 64

const reading = new ReadingTurn()
const lines = new WeakMap<Socket, SocketLine>()

/** Has small chunks of bodies put together, whoever reads them, and connections wait for their turn to be read. To be called before anybody reads requests. */
export function gatherChunks(server: Server): void {
  server.on('connection', (socket) => {
    const line = new SocketLine(socket)
    lines.set(socket, line)
    reading.add(line)
    socket.once('close', () => reading.remove(line))
  })
  // Whoever speaks on it then minds what it reads.
  server.prependListener('upgrade', ({ socket }) => {
    const line = lines.get(socket)
    if (!line) return
    reading.remove(line)
    line.resume()
  })
  server.prependListener('request', (request: IncomingMessage) => {
    const line = lines.get(request.socket)
    if (line && request.headers['transfer-encoding'] !== undefined) gather(request, line)
  })
}

function gather(request: IncomingMessage, line: Line): void {
  const push = request.push.bind(request)
  let chunks: Buffer[] = []
  const handOn = (): void => {
    if (chunks.length === 0 || request.destroyed) return
    const all = Buffer.concat(chunks)
    chunks = []
    push(all)
  }
  request.push = (chunk: Buffer | null) => {
    if (chunk === null || chunk.length >= SMALL) {
      handOn()
      return push(chunk)
    }
    if (chunks.length === 0) setImmediate(handOn)
    chunks.push(chunk)
    if (chunks.length % LOOK === 0) reading.took(line)
    // False has Node read nothing more from the connection until something is handed on.
    return chunks.length < MANY
  }
}

/** A connection that Node reads requests from. One that Node has paused stays so. */
class SocketLine implements Line {
  readonly #socket: Socket
  #paused = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  pause(): void {
    if (this.#socket.isPaused()) return
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket.resume()
  }
}
