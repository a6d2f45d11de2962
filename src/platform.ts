// What the outside world gives: time, ids, randomness. A test hands in its own.
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Platform {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that have passed since some moment, which no change of the machine's clock touches; `performance.now()` where it is absent. */
  elapsed?(): number
  /** Names the start of the machine that `elapsed` counts from in each of its processes. Null or absent: it counts from some moment of the process. */
  readonly boot?: string | null
  /** The present as an RFC 3339 string in UTC with milliseconds. */
  timestamp(): string
  /** A new opaque id, `<prefix>_<32 hexadecimal characters>`, of which 80 bits are random. */
  id(prefix: string): string
  /** `bytes` random bytes as base64url. */
  secret(bytes: number): string
}

/** How many random bytes are asked for at once: the way to their source is longer than what it gives. */
const RANDOM_AT_ONCE = 4_096

export function systemPlatform(): Platform {
  let lastMs = Number.NaN
  let lastText = ''
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    // Rendering a date costs more than the rest of an event: one string serves its whole millisecond.
    timestamp() {
      const ms = Date.now()
      if (ms !== lastMs) {
        lastMs = ms
        lastText = new Date(ms).toISOString()
      }
      return lastText
    },
    // The time comes first, as in RFC 9562, section 5.7: rows that are made together lie together in an index by id. With a random place for
    // each, a job among a million costs twice as much to write as the first one.
    id: (prefix) => `${prefix}_${Date.now().toString(16).padStart(12, '0')}${randomTail()}`,
    secret: createSecretGenerator(),
  }
}

/** The same with `monotonic`, in seconds and nanoseconds: the clock that on Linux all processes since the start of the machine share. */
export function machinePlatform(monotonic: () => [number, number]): Platform {
  const elapsed = () => {
    const [seconds, nanoseconds] = monotonic()
    return seconds * 1_000 + nanoseconds / 1_000_000
  }
  return { ...systemPlatform(), elapsed, boot: readBootId() }
}

/** What Linux calls the start of the machine; null elsewhere. */
function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}

/** Twenty random hexadecimal characters. They are those of a UUID that are neither its version nor its variant. */
function randomTail(): string {
  const uuid = randomUUID()
  return uuid.slice(0, 8) + uuid.slice(24)
}

function createSecretGenerator(): Platform['secret'] {
  const pool = Buffer.alloc(RANDOM_AT_ONCE)
  let next = pool.length
  return (bytes) => {
    if (bytes > pool.length) return randomBytes(bytes).toString('base64url')
    if (next + bytes > pool.length) {
      randomFillSync(pool)
      next = 0
    }
    const text = pool.toString('base64url', next, next + bytes)
    // What is handed out is kept nowhere else.
    pool.fill(0, next, next + bytes)
    next += bytes
    return text
  }
}
