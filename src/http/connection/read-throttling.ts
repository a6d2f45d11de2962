// Throttles the parsing of what clients send. Node parses all that it reads at once: a packet may hold more than a thousand requests, and packets of
// very many connections may come in one turn of the event loop.
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type PausableConnection, ReadThrottle } from '../../net/read-throttle.ts'
import { networkKeyOf } from './connection-limits.ts'

/**
 * Bytes that are parsed at once in a flood: enough for most heads, and for some dozens of the shortest requests. A body of announced length is not
 * cut.
 */
const FLOOD_SLICE_BYTES = 2_048
/** The same for a body in large chunks, whose length is unknown. */
const CHUNKED_SLICE_BYTES = 32_768

/** More requests than this in one packet are a flood. */
const MAX_REQUESTS_PER_PACKET = 16
/** More batches of small chunks than this in one packet are a flood as well; a batch is some dozens. */
const MAX_SMALL_CHUNK_BATCHES = 4
/** How long a flood lasts after the last such packet, in milliseconds. */
const FLOOD_MS = 10_000

/** When the flood ends, in milliseconds of the monotonic clock. */
let flooded_until = 0

function isFlooded(): boolean {
  return performance.now() < flooded_until
}

const reading = new ReadThrottle()
const throttledConnections = new WeakMap<Socket, ThrottledConnection>()

/** Makes connections wait for their turn to be read. Call this before any listener reads requests. */
export function throttleReads(server: Server): void {
  server.on('connection', (socket) => {
    const throttled = new ThrottledConnection(socket)
    if (isFlooded()) throttled.sliceReads()
    throttledConnections.set(socket, throttled)
    reading.add(throttled)
    socket.once('close', () => reading.remove(throttled))
  })
  server.prependListener('request', (request: IncomingMessage) => {
    const throttled = throttledConnections.get(request.socket)
    if (!throttled) return
    throttled.beginRequest(request)
    reading.recordRead(throttled)
  })
  // After the upgrade, the code of the new protocol limits its own reads.
  server.prependListener('upgrade', ({ socket }) => {
    const throttled = throttledConnections.get(socket)
    if (!throttled) return
    reading.remove(throttled)
    throttled.detach()
  })
}

/** Records that some dozens of small chunks of a body were parsed. */
export function countSmallChunks(socket: Socket): void {
  const throttled = throttledConnections.get(socket)
  if (!throttled) return
  throttled.addSmallChunkBatch()
  reading.recordRead(throttled)
}

/**
 * A connection that Node reads requests from. A connection that Node has paused stays paused. While a connection waits for its turn, `resume` by
 * others has no effect: Node resumes after each response, and would parse all buffered megabytes in the same turn.
 */
class ThrottledConnection implements PausableConnection {
  readonly origin: string
  readonly #socket: Socket & { _paused?: boolean }
  /** Requests and batches of small chunks in the last packet, and the bytes that the socket had read by then. */
  #requests = 0
  #smallChunkBatches = 0
  #read_bytes = 0
  /** Whether the previous packet was a flood. */
  #hasFlooded = false
  /** The last request, and about how much of its body is still to come. */
  #request: IncomingMessage | null = null
  #body_bytes = 0
  #paused = false
  #isSliced = false
  #hasEnded = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.origin = networkKeyOf(socket)
    const resume = socket.resume.bind(socket)
    // `_paused` is an internal flag of Node.
    socket.resume = () => (this.#paused || this.#socket._paused ? socket : resume())
    socket.on('resume', () => this.#onResume())
  }

  beginRequest(request: IncomingMessage): void {
    this.#request = request
    this.#body_bytes = Number(request.headers['content-length'] ?? 0)
    this.#startPacket()
    this.#requests++
    if (this.#isOverLimit) flooded_until = performance.now() + FLOOD_MS
  }

  /** A batch is some dozens of small chunks of the body. */
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

  /** Resets the counts when a new packet has come. */
  #startPacket(): void {
    const { bytesRead } = this.#socket
    if (bytesRead === this.#read_bytes) return
    this.#read_bytes = bytesRead
    this.#hasFlooded = this.#isOverLimit
    this.#requests = 0
    this.#smallChunkBatches = 0
  }

  /** Parses in slices from now on. Without a flood, whole packets are read, which costs less. */
  sliceReads(): void {
    if (this.#isSliced || this.#hasEnded) return
    this.#isSliced = true
    const push = this.#socket.push.bind(this.#socket)
    this.#socket.push = (bytes: Buffer | null) => (bytes === null ? push(null) : this.#pushSliced(bytes, push))
    forceStreamReads(this.#socket)
  }

  /**
   * Ends throttling: no more requests come on this connection. What comes waits in the stream for the code of the new protocol; a resume here would
   * lose it. If reading was stopped while Node parsed the packet, only this call starts it again.
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

  /**
   * Node emits `resume` late: if the socket was paused meanwhile, Node has to stop again. Slicing begins only here, since a stopped socket would not
   * go on.
   */
  #onResume(): void {
    if (this.#isSliced) return
    if (this.#socket.isPaused()) this.#socket.emit('pause')
    else if (isFlooded()) this.sliceReads()
  }

  /** Each slice is a chunk of the stream: while the connection is paused, later slices wait in the stream. */
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

  /** Bytes that may be parsed at once. */
  #maxSliceBytes(): number {
    if (this.#hasEnded) return Number.POSITIVE_INFINITY
    const isInChunks = this.#request?.complete === false && this.#request.headers['transfer-encoding'] !== undefined
    return isInChunks && !this.isFlood ? CHUNKED_SLICE_BYTES : Math.max(FLOOD_SLICE_BYTES, this.#body_bytes)
  }
}

/** Makes Node parse what the stream delivers. Node reads whole packets past the stream until a listener for `data` was added once. */
function forceStreamReads(socket: Socket): void {
  const ignore = () => {}
  socket.on('data', ignore).off('data', ignore)
}
