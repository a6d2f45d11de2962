// What clients send, taken apart a little at a time. Node takes apart at once what it reads at once, and a packet may hold more than a thousand requests. Packets
// of very many connections may come in one turn of the event loop.
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type PausableConnection, ReadThrottle } from '../../net/read-throttle.ts'
import { networkKeyOf } from './connection-limits.ts'

/** Bytes that are taken apart at once in a flood: room for most heads, and for some dozens of the shortest requests. A body of a length that is announced is not cut. */
const FLOOD_SLICE_BYTES = 2_048
/** The same of a body in large chunks, of which nobody knows how long it is. */
const CHUNKED_SLICE_BYTES = 32_768

/** More requests than this in one packet are a flood. */
const MAX_REQUESTS_PER_PACKET = 16
/** More batches of small chunks than this in one packet are a flood as well; a batch is some dozens. */
const MAX_SMALL_CHUNK_BATCHES = 4
/** How long a flood lasts behind the last such packet, in milliseconds. */
const FLOOD_MS = 10_000

/** When the flood ends, in milliseconds of the monotonic clock. */
let flooded_until = 0

function isFlooded(): boolean {
  return performance.now() < flooded_until
}

const reading = new ReadThrottle()
const throttledConnections = new WeakMap<Socket, ThrottledConnection>()

/** Has connections wait for their turn to be read. To be called before anybody reads requests. */
export function throttleReads(server: Server): void {
  server.on('connection', (socket) => {
    const line = new ThrottledConnection(socket)
    if (isFlooded()) line.sliceReads()
    throttledConnections.set(socket, line)
    reading.add(line)
    socket.once('close', () => reading.remove(line))
  })
  server.prependListener('request', (request: IncomingMessage) => {
    const line = throttledConnections.get(request.socket)
    if (!line) return
    line.beginRequest(request)
    reading.recordRead(line)
  })
  // Whoever speaks on it then minds what it reads.
  server.prependListener('upgrade', ({ socket }) => {
    const line = throttledConnections.get(socket)
    if (!line) return
    reading.remove(line)
    line.detach()
  })
}

/** Some dozens of small chunks of a body were taken apart. */
export function countSmallChunks(socket: Socket): void {
  const line = throttledConnections.get(socket)
  if (!line) return
  line.addSmallChunkBatch()
  reading.recordRead(line)
}

/**
 * A connection that Node reads requests from. One that Node has paused stays so. One that waits for its turn does so whoever wants to read on: to Node each end of an
 * answer is a reason to, and in the same turn it would take apart what else is here, which is megabytes.
 */
class ThrottledConnection implements PausableConnection {
  readonly origin: string
  readonly #socket: Socket & { _paused?: boolean }
  /** How many requests came in the last packet, how often dozens of small chunks did, and how much was read when it had come. */
  #requests = 0
  #smallChunkBatches = 0
  #read_bytes = 0
  /** Whether the packet before was a flood. */
  #hasFlooded = false
  /** The last request that came, and about how much of its body is to come. */
  #request: IncomingMessage | null = null
  #body_bytes = 0
  #paused = false
  #isSliced = false
  #hasEnded = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.origin = networkKeyOf(socket)
    const resume = socket.resume.bind(socket)
    // `_paused` is Node's own mark.
    socket.resume = () => (this.#paused || this.#socket._paused ? socket : resume())
    socket.on('resume', () => this.#onResume())
  }

  /** What comes next is its body. */
  beginRequest(request: IncomingMessage): void {
    this.#request = request
    this.#body_bytes = Number(request.headers['content-length'] ?? 0)
    this.#startPacket()
    this.#requests++
    if (this.#isOverLimit) flooded_until = performance.now() + FLOOD_MS
  }

  /** Its body comes in small chunks, some dozens of which were taken apart. */
  addSmallChunkBatch(): void {
    this.#startPacket()
    this.#smallChunkBatches++
    if (this.#isOverLimit) flooded_until = performance.now() + FLOOD_MS
  }

  get isFlood(): boolean {
    return this.#hasFlooded || this.#isOverLimit
  }

  get #isOverLimit(): boolean {
    return this.#requests > MAX_REQUESTS_PER_PACKET || this.#smallChunkBatches > MAX_SMALL_CHUNK_BATCHES
  }

  /** Counts anew where another packet has come. */
  #startPacket(): void {
    const { bytesRead } = this.#socket
    if (bytesRead === this.#read_bytes) return
    this.#read_bytes = bytesRead
    this.#hasFlooded = this.#isOverLimit
    this.#requests = 0
    this.#smallChunkBatches = 0
  }

  /** Has it taken apart in pieces from now on. Whole packets are read as long as nobody floods, since that costs less. */
  sliceReads(): void {
    if (this.#isSliced || this.#hasEnded) return
    this.#isSliced = true
    const push = this.#socket.push.bind(this.#socket)
    this.#socket.push = (bytes: Buffer | null) => (bytes === null ? push(null) : this.#pushSliced(bytes, push))
    forceStreamReads(this.#socket)
  }

  /**
   * No requests come on it any more. What comes waits in the stream until whoever speaks on it then reads: to resume it here would lose that. Where reading was
   * stopped while Node took the packet apart, nobody but this begins it again.
   */
  detach(): void {
    this.#hasEnded = true
    this.#paused = false
    this.#socket._read(0)
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

  /** Comes a little later than what it tells of: one that was paused meanwhile has Node stop again. One that is cut while Node has stopped would not go on. */
  #onResume(): void {
    if (this.#isSliced) return
    if (this.#socket.isPaused()) this.#socket.emit('pause')
    else if (isFlooded()) this.sliceReads()
  }

  /** Each piece is a chunk of the stream: those behind the one at which the connection is paused wait in it. */
  #pushSliced(bytes: Buffer, push: Socket['push']): boolean {
    this.#startPacket()
    let goOn = true
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.#maxSliceBytes())
      at += piece.length
      this.#body_bytes -= piece.length
      goOn = push(piece)
    }
    return goOn
  }

  /** How much may be taken apart at once. */
  #maxSliceBytes(): number {
    if (this.#hasEnded) return Number.POSITIVE_INFINITY
    const isInChunks = this.#request?.complete === false && this.#request.headers['transfer-encoding'] !== undefined
    return isInChunks && !this.isFlood ? CHUNKED_SLICE_BYTES : Math.max(FLOOD_SLICE_BYTES, this.#body_bytes)
  }
}

/** Has Node take apart what it gets from the stream of the connection: it reads around that, whole packets, until somebody else has listened to it. */
function forceStreamReads(socket: Socket): void {
  const nobody = () => {}
  socket.on('data', nobody).off('data', nobody)
}
