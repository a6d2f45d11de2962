// Requests whose body may take longer than others: as long as it takes, if only it keeps coming.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How often it is looked at what has come, in milliseconds. */
const CHECK_INTERVAL_MS = 30_000
/** Bytes that have to come in each window. */
const MIN_BYTES_PER_INTERVAL = 4_096

export class UploadStallDetector {
  readonly #window_ms: number
  readonly #watchedSockets = new Set<Socket>()

  constructor(window_ms: number = CHECK_INTERVAL_MS) {
    this.#window_ms = window_ms
  }

  /** Tells when the body of a request has come to a halt, or nearly so, until it is disposed of. A reader that stops is not held against it. */
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
