// Pings, and the end of a connection that has fallen silent.
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { RECHECK_MS } from '../access/recheck.ts'
import type { Platform } from '../platform.ts'

/** How long a socket waits for what, in milliseconds. */
export interface SocketTimes {
  readonly protocol_ping_ms: number
  readonly frame_ping_ms: number
  /** Without a sign of life for so long the peer is gone. */
  readonly silence_ms: number
  /** How long a peer may leave too much unread. */
  readonly drain_ms: number
  /** How long the end of a connection may take when the server closes it. */
  readonly goodbye_ms: number
  /** How long the socket of a refused upgrade waits for its peer to close as well. */
  readonly linger_ms: number
  /** How often the credential of whoever opened it is looked at again. */
  readonly recheck_ms: number
}

export const SOCKET_TIMES: SocketTimes = {
  protocol_ping_ms: 20_000,
  frame_ping_ms: 25_000,
  silence_ms: 70_000,
  drain_ms: 30_000,
  goodbye_ms: 2_000,
  linger_ms: 1_000,
  recheck_ms: RECHECK_MS,
}

/** A WebSocket, and the connection that its bytes come on. */
export interface Wired {
  readonly ws: WebSocket
  readonly wire: Socket
}

export class KeepAlive {
  readonly #timers: NodeJS.Timeout[]

  constructor({ ws, wire }: Wired, send: (frame: object) => void, platform: Platform, times: SocketTimes) {
    let heard = performance.now()
    let read = 0
    // Any byte is a sign of life: a large frame takes as long as the line needs, and pongs come behind it. A peer that is not read from
    // cannot give one.
    const listen = () => {
      if (ws.isPaused || wire.bytesRead > read) heard = performance.now()
      read = wire.bytesRead
    }
    this.#timers = [
      setInterval(() => {
        listen()
        if (performance.now() - heard > times.silence_ms) ws.terminate()
        else if (ws.readyState === ws.OPEN) ws.ping()
      }, times.protocol_ping_ms),
      setInterval(() => send({ type: 'ping', ts: platform.now() }), times.frame_ping_ms),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }
}
