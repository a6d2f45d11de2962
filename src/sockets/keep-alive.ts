// Sends pings, and ends silent connections.
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { RECHECK_INTERVAL_MS } from '../access/credential-rechecker.ts'
import type { Platform } from '../platform.ts'

/** Times of a socket in milliseconds. */
export interface SocketTimeouts {
  readonly protocol_ping_ms: number
  readonly frame_ping_ms: number
  /** After this silence the peer counts as gone. */
  readonly idle_timeout_ms: number
  /** How long a peer may leave the buffer too full. */
  readonly drain_ms: number
  /** How long the close may take when the server closes a connection. */
  readonly close_timeout_ms: number
  /** How long the socket of a refused upgrade waits for its peer to close. */
  readonly linger_ms: number
  /** Time between two rechecks of the socket's credential. */
  readonly recheck_ms: number
}

export const DEFAULT_SOCKET_TIMEOUTS: SocketTimeouts = {
  protocol_ping_ms: 20_000,
  frame_ping_ms: 25_000,
  idle_timeout_ms: 70_000,
  drain_ms: 30_000,
  close_timeout_ms: 2_000,
  linger_ms: 1_000,
  recheck_ms: RECHECK_INTERVAL_MS,
}

/** A WebSocket with its TCP connection. */
export interface WiredSocket {
  readonly ws: WebSocket
  readonly wire: Socket
}

export class SocketKeepAlive {
  readonly #timers: NodeJS.Timeout[]

  constructor({ ws, wire }: WiredSocket, send: (frame: object) => void, platform: Platform, timeouts: SocketTimeouts) {
    let last_byte_at = performance.now()
    let bytes_read = 0
    // Any byte is a sign of life: pongs come only after a large frame, which may take long. A paused peer cannot give a sign.
    const noteBytes = () => {
      if (ws.isPaused || wire.bytesRead > bytes_read) last_byte_at = performance.now()
      bytes_read = wire.bytesRead
    }
    this.#timers = [
      setInterval(() => {
        noteBytes()
        if (performance.now() - last_byte_at > timeouts.idle_timeout_ms) ws.terminate()
        else if (ws.readyState === ws.OPEN) ws.ping()
      }, timeouts.protocol_ping_ms),
      setInterval(() => send({ type: 'ping', ts: platform.now() }), timeouts.frame_ping_ms),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }
}
