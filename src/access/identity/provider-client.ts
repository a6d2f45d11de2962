// Sends requests to the identity provider, limited in time and size, and never redirected. The caller interprets the response.
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'

export interface IdentityDependencies {
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
  /** Resolves after `ms` milliseconds, or when the signal aborts. */
  readonly wait: (ms: number, stopping: AbortSignal | null) => Promise<void>
  /** Users of the provider who are administrators. */
  readonly admin_users: ReadonlySet<string>
}

export interface ProviderEndpoint {
  /** The base URL of the provider's API, which is also the issuer of its tokens. */
  readonly base: string
  readonly fetch: typeof fetch
  /** Milliseconds that a response may take. */
  readonly timeout_ms: number
  /** Aborts pending requests. */
  readonly stopping: AbortSignal | null
}

/** The provider cannot decide now. The message is for the log, and contains nothing that was sent. */
export class ProviderUnavailableError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unavailable'
  }
}

/** Bytes of a response. A key set or a user is a few kilobytes. */
const MAX_RESPONSE_BYTES = 65_536

/**
 * Sends a GET. Returns the status, and the JSON of a 200, or of a 404 that is JSON.
 * @throws ProviderUnavailableError if there is no complete response, or a 200 without JSON
 */
export async function requestProvider(
  provider: ProviderEndpoint,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; body: unknown }> {
  const limit = AbortSignal.timeout(provider.timeout_ms)
  const signal = provider.stopping ? AbortSignal.any([limit, provider.stopping]) : limit
  try {
    const response = await provider.fetch(`${provider.base}${path}`, {
      headers: { Accept: 'application/json', ...headers },
      // The key of this server and the caller's token may go only to the URL that the operator configured.
      redirect: 'manual',
      signal,
    })
    if (response.status === 200) return { status: 200, body: JSON.parse(await readResponseText(response)) }
    if (response.status === 404) return { status: 404, body: parseJsonOrNull(await readResponseText(response)) }
    await response.body?.cancel()
    return { status: response.status, body: null }
  } catch (error) {
    throw error instanceof ProviderUnavailableError ? error : new ProviderUnavailableError(describeError(error))
  }
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function readResponseText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += piece.length
    if (length > MAX_RESPONSE_BYTES)
      throw new ProviderUnavailableError(`the response has more than ${MAX_RESPONSE_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length).toString()
}

/** Only the kind of error: a message may quote the URL or the response. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = (error.cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}

const LOG_INTERVAL_MS = 60_000

/** Logs an outage of the provider, once a minute at most, and its recovery. */
export class OutageLog {
  readonly #subject: string
  readonly #log: Log
  #logged_at = Number.NEGATIVE_INFINITY
  #isReported = false

  constructor(subject: string, log: Log) {
    this.#subject = subject
    this.#log = log
  }

  reportFailure(reason: string, now: number): void {
    if (Math.abs(now - this.#logged_at) < LOG_INTERVAL_MS) return
    this.#logged_at = now
    this.#isReported = true
    this.#log.warn({ reason }, `${this.#subject} cannot be fetched from the identity provider`)
  }

  reportRecovery(): void {
    if (!this.#isReported) return
    this.#isReported = false
    this.#log.info(`${this.#subject} can be fetched from the identity provider again`)
  }
}
