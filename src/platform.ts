// What the outside world gives: time, ids, randomness. A test hands in its own.
import { randomBytes, randomUUID } from 'node:crypto'

export interface Platform {
  /** Milliseconds since the epoch. */
  now(): number
  /** The present as an RFC 3339 string in UTC with milliseconds. */
  timestamp(): string
  /** A new opaque id, `<prefix>_<random>`. */
  id(prefix: string): string
  /** `bytes` random bytes as base64url. */
  secret(bytes: number): string
}

export function systemPlatform(): Platform {
  let lastMs = Number.NaN
  let lastText = ''
  return {
    now: () => Date.now(),
    // Rendering a date costs more than the rest of an event: one string serves its whole millisecond.
    timestamp() {
      const ms = Date.now()
      if (ms !== lastMs) {
        lastMs = ms
        lastText = new Date(ms).toISOString()
      }
      return lastText
    },
    id: (prefix) => `${prefix}_${randomUUID().replaceAll('-', '')}`,
    secret: (bytes) => randomBytes(bytes).toString('base64url'),
  }
}
