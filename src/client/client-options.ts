// The options of a client, and their defaults.
import type { SocketEncoding } from '../../generated/types.ts'
import type { ServiceError } from './errors.ts'

/** The delay between attempts: `base_ms · factor^n`, at most `max_ms`, minus a random part of up to a half. */
export interface Backoff {
  base_ms: number
  factor: number
  max_ms: number
  /** The most attempts of one request, including the first. */
  attempts: number
}

/** Time limits, in milliseconds. */
export interface ClientTimes {
  /** The limit for opening a socket. */
  connect_ms: number
  /** The limit for answering a request. Runs, uploads and streams are exempt. */
  request_ms: number
  /**
   * A connection without any message for this long counts as dead. A server sends a
   * message every 25 s on the socket, every 15 s in a stream of events.
   */
  silence_ms: number
  /** How long an event may be missing after later ones have arrived. */
  gap_ms: number
  /** How long an unused socket stays open. */
  idle_ms: number
  /** How long a job is followed without a connection before its result fails. */
  give_up_ms: number
  /** The longest `Retry-After` that the client waits for. */
  retry_after_ms: number
  /** How long the client tries in the background to cancel a job after its caller has given up. */
  cancel_ms: number
}

/** The options of `createClient`. */
export interface ClientOptions {
  /** The service's URL, such as `http://127.0.0.1:7777`. */
  url: string | URL
  /** A bearer token, or a function that returns one. The client calls the function again, once, when the service refuses the token. */
  token?: string | (() => string | Promise<string>)
  /** The encoding of the socket's frames: `messagepack` (the default) or `json-text`. The client understands both at any time. */
  encoding?: SocketEncoding
  /** The most messages that the socket sends in a second. Absent: 160. By default a server closes the socket at more than 200. */
  messages_per_second?: number
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>
  backoff?: Partial<Backoff>
  times?: Partial<ClientTimes>
}

const DEFAULT_BACKOFF: Backoff = { base_ms: 250, factor: 2, max_ms: 15_000, attempts: 4 }

const DEFAULT_TIMES: ClientTimes = {
  connect_ms: 15_000,
  request_ms: 60_000,
  silence_ms: 60_000,
  gap_ms: 1_000,
  idle_ms: 1_000,
  give_up_ms: 300_000,
  retry_after_ms: 60_000,
  cancel_ms: 10_000,
}

/** The options with all defaults filled in. */
export interface ResolvedClientOptions {
  /** Without a final slash. */
  readonly url: string
  readonly token: string | (() => string | Promise<string>) | null
  readonly encoding: SocketEncoding
  readonly messages_per_second: number
  readonly fetch: (request: Request) => Promise<Response>
  readonly backoff: Backoff
  readonly times: ClientTimes
}

/** @throws TypeError where `url` is not an HTTP URL, or holds a password */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  const { token, encoding, messages_per_second, fetch, backoff, times } = options
  const url = String(options.url)
  const { protocol, username, password } = new URL(url)
  // No message repeats the URL, because it may hold a password.
  if (username !== '' || password !== '')
    throw new TypeError('the url of a service must not hold a user or a password: use the option token')
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError(`the url of a service must be http or https, not ${protocol}`)
  return {
    url: url.replace(/\/+$/, ''),
    token: token ?? null,
    encoding: encoding ?? 'messagepack',
    messages_per_second: messages_per_second ?? 160,
    fetch: fetch ?? ((request) => globalThis.fetch(request)),
    backoff: { ...DEFAULT_BACKOFF, ...backoff },
    times: { ...DEFAULT_TIMES, ...times },
  }
}

/** Whether a server asks for a longer delay than the settings allow. */
export function isRetryAfterTooLong(
  { retry_after_ms }: Pick<ServiceError, 'retry_after_ms'>,
  times: ClientTimes,
): boolean {
  return (retry_after_ms ?? 0) > times.retry_after_ms
}

/** The delay after the attempt number `failures` (0 for the first) has failed, in milliseconds. */
export function backoffDelayMs({ base_ms, factor, max_ms }: Backoff, failures: number, random = Math.random): number {
  const full = Math.min(max_ms, base_ms * factor ** failures)
  return full / 2 + (full / 2) * random()
}
