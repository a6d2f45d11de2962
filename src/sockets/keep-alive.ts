// Pings, and the end of a connection that has fallen silent.
import type { WebSocket } from 'ws'
import type { Platform } from '../platform.ts'

const PROTOCOL_PING_MS = 20_000
const FRAME_PING_MS = 25_000
const SILENCE_MS = 70_000

export class KeepAlive {
  readonly #timers: NodeJS.Timeout[]

  constructor(ws: WebSocket, send: (frame: object) => void, platform: Platform) {
    let heard = performance.now()
    const hear = () => {
      heard = performance.now()
    }
    ws.on('message', hear)
    ws.on('pong', hear)
    ws.on('ping', hear)
    this.#timers = [
      setInterval(() => {
        if (performance.now() - heard > SILENCE_MS) ws.terminate()
        else if (ws.readyState === ws.OPEN) ws.ping()
      }, PROTOCOL_PING_MS),
      setInterval(() => send({ type: 'ping', ts: platform.now() }), FRAME_PING_MS),
    ]
    for (const timer of this.#timers) timer.unref()
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer)
  }
}
