// Tracks requests whose body may take long. Such a body has no time limit as long as bytes keep coming.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How often the received bytes are checked, in milliseconds. */
const CHECK_INTERVAL_MS = 30_000
/** The fewest bytes for each interval. */
const MIN_BYTES_PER_INTERVAL = 4_096

export class UploadStallDetector {
  readonly #window_ms: number
  readonly #watchedSockets = new Set<Socket>()

  constructor(window_ms: number = CHECK_INTERVAL_MS) {
    this.#window_ms = window_ms
  }

  /** Calls `onStall` when the body of a request has nearly stopped. Disposal ends the watch. A paused reader does not count as a stall. */
  watch(request: IncomingMessage, onStall: () => void): Disposable {
    const { socket } = request
    let seen = socket.bytesRead
    const timer = setInterval(() => {
      const read = socket.bytesRead
      const came = read - seen >= MIN_BYTES_PER_INTERVAL || request.complete || request.isPaused()
      seen = read
      if (!came) onStall()
    }, this.#window_ms)
    timer.unref()
    this.#watchedSockets.add(socket)
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer)
        this.#watchedSockets.delete(socket)
      },
    }
  }

  /** Whether the body of such a request is being read from a connection. */
  isWatching(socket: unknown): boolean {
    return this.#watchedSockets.has(socket as Socket)
  }
}
