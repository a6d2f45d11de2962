// Time, ids and randomness. Tests replace them.
import { randomBytes, randomFillSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface Platform {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds of a monotonic clock, which changes of the machine's clock do not affect; `performance.now()` if absent. */
  elapsed?(): number
  /** Names the machine start from which `elapsed` counts in every process. Null or absent: `elapsed` counts from a moment of this process. */
  readonly boot?: string | null
  /** The present as an RFC 3339 string in UTC with milliseconds. */
  timestamp(): string
  /** A new opaque id, `<prefix>_<32 hexadecimal characters>`, of which 80 bits are random. */
  id(prefix: string): string
  /** `bytes` random bytes as base64url. */
  secret(bytes: number): string
}

/** The number of random bytes per call: the call itself costs more than the bytes. */
const RANDOM_AT_ONCE = 4_096

export function systemPlatform(): Platform {
  let lastMs = Number.NaN
  let lastText = ''
  return {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    // Formatting a date costs more than the rest of an event: one string serves its whole millisecond.
    timestamp() {
      const ms = Date.now()
      if (ms !== lastMs) {
        lastMs = ms
        lastText = new Date(ms).toISOString()
      }
      return lastText
    },
    // The time comes first, as in RFC 9562, section 5.7: rows that are created together are neighbours in an index by id. With random ids, a job
    // among a million costs twice as much to write as the first.
    id: (prefix) => `${prefix}_${Date.now().toString(16).padStart(12, '0')}${randomTail()}`,
    secret: createSecretGenerator(),
  }
}

/** The system platform with a monotonic clock in seconds and nanoseconds. On Linux all processes since the start of the machine share this clock. */
export function machinePlatform(monotonic: () => [number, number]): Platform {
  const elapsed = () => {
    const [seconds, nanoseconds] = monotonic()
    return seconds * 1_000 + nanoseconds / 1_000_000
  }
  return { ...systemPlatform(), elapsed, boot: readBootId() }
}

/** Linux's id of the start of the machine; null on other systems. */
function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}

/** Twenty random hexadecimal characters: those of a UUID without its version and variant. */
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
    // The pool must not keep secrets that were handed out.
    pool.fill(0, next, next + bytes)
    next += bytes
    return text
  }
}
