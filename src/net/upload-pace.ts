// Requests whose body may take longer than others: as long as it takes, if only it keeps coming.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** How often it is looked at what has come, in milliseconds. */
const WINDOW_MS = 30_000
/** Bytes that have to come in each window. */
const LEAST = 4_096

export class UploadPace {
  readonly #window_ms: number
  readonly #watched = new Set<Socket>()

  constructor(window_ms: number = WINDOW_MS) {
    this.#window_ms = window_ms
  }

  /** Tells when the body of a request has come to a halt, or nearly so, until it is disposed of. A reader that stops is not held against it. */
  watch(request: IncomingMessage, halted: () => void): Disposable {
    const { socket } = request
    let seen = socket.bytesRead
    const timer = setInterval(() => {
      const read = socket.bytesRead
      const came = read - seen >= LEAST || request.complete || request.isPaused()
      seen = read
      if (!came) halted()
    }, this.#window_ms)
    timer.unref()
    this.#watched.add(socket)
    return {
      [Symbol.dispose]: () => {
        clearInterval(timer)
        this.#watched.delete(socket)
      },
    }
  }

  /** Whether the body of such a request is being read from a connection. */
  covers(socket: unknown): boolean {
    return this.#watched.has(socket as Socket)
  }
}
