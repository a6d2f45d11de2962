// What a client is told when it is made, and what it goes by where it is told nothing.
import type { SocketEncoding } from '../../generated/types.ts'
import type { ServiceError } from './errors.ts'

/** How long to wait between attempts: `base_ms · factor^n`, at most `max_ms`, of which a random half is taken off. */
export interface Backoff {
  base_ms: number
  factor: number
  max_ms: number
  /** How often one request is sent at most, the first time included. */
  attempts: number
}

/** Limits of time, in milliseconds. */
export interface ClientTimes {
  /** Until a socket must be open. */
  connect_ms: number
  /** Until a request must be answered; runs, uploads and streams are excepted. */
  request_ms: number
  /** Silence after which a connection counts as dead. A server says something every 25 s on the socket, every 15 s in a stream of events. */
  silence_ms: number
  /** How long an event may be missing while later ones are there. */
  gap_ms: number
  /** How long a socket that nobody needs stays open. */
  idle_ms: number
  /** How long a job is followed without a connection before its result fails. */
  give_up_ms: number
  /** The longest `Retry-After` that is waited for. */
  retry_after_ms: number
  /** How long a job whose caller gave up, and wants it cancelled, is tried to be cancelled in the background. */
  cancel_ms: number
}

/** What `createClient` takes. */
export interface ClientOptions {
  /** Where the service is, such as `http://127.0.0.1:7777`. */
  url: string | URL
  /** A bearer token, or a function that gives one. It is asked again, once, when the service refuses what it gave. */
  token?: string | (() => string | Promise<string>)
  /** How the socket talks, both ways: `messagepack` (the default) or `json-text`. Either is understood at any time. */
  encoding?: SocketEncoding
  /** How many messages the socket sends in a second at most. Absent: 160. A server takes 200 by default, and closes the socket at more. */
  messages_per_second?: number
  /** In the place of the global `fetch`. */
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

/** The options with nothing left open. */
export interface ResolvedClientOptions {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | (() => string | Promise<string>) | null
  readonly encoding: SocketEncoding
  readonly messages_per_second: number
  readonly fetch: (request: Request) => Promise<Response>
  readonly backoff: Backoff
  readonly times: ClientTimes
}

/** @throws TypeError where `url` is none of HTTP, or holds a password */
export function resolveClientOptions(options: ClientOptions): ResolvedClientOptions {
  const { token, encoding, messages_per_second, fetch, backoff, times } = options
  const url = String(options.url)
  const { protocol, username, password } = new URL(url)
  // A URL may hold a password, so that no message repeats it.
  if (username !== '' || password !== '')
    throw new TypeError('the url of a service holds no user and no password: give a token')
  if (protocol !== 'http:' && protocol !== 'https:')
    throw new TypeError(`the url of a service is http or https, and not ${protocol}`)
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

/** Whether a server asks to wait longer than the settings allow. */
export function isRetryAfterTooLong(
  { retry_after_ms }: Pick<ServiceError, 'retry_after_ms'>,
  times: ClientTimes,
): boolean {
  return (retry_after_ms ?? 0) > times.retry_after_ms
}

/** How long to wait after the attempt number `failures` (0 for the first) failed, in milliseconds. */
export function backoffDelayMs({ base_ms, factor, max_ms }: Backoff, failures: number, random = Math.random): number {
  const full = Math.min(max_ms, base_ms * factor ** failures)
  return full / 2 + (full / 2) * random()
}
