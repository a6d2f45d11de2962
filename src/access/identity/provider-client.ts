// Requests to the identity provider: bounded in time and size, never redirected. What an answer means is left to whoever asks.
import type { Log } from '../../log.ts'
import type { Platform } from '../../platform.ts'

export interface IdentityDependencies {
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
  /** Resolves after so many milliseconds, or when the signal is given. */
  readonly wait: (ms: number, stopping: AbortSignal | null) => Promise<void>
  /** Users of the provider who are administrators. */
  readonly admin_users: ReadonlySet<string>
}

export interface ProviderEndpoint {
  /** Where the provider's interface begins; also the issuer of its tokens. */
  readonly base: string
  readonly fetch: typeof fetch
  /** How long an answer may take, in milliseconds. */
  readonly timeout_ms: number
  /** Ends what is under way. */
  readonly stopping: AbortSignal | null
}

/** Nobody can tell now. The message is for the log, and holds nothing that was sent. */
export class ProviderUnavailableError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unavailable'
  }
}

/** So many bytes of an answer are read. A set of keys and a user are a few kilobytes. */
const MAX_RESPONSE_BYTES = 65_536

/**
 * One GET. Gives the status, and the JSON of a 200; of a 404 too, where it is JSON.
 * @throws Unavailable where there is no whole answer, or a 200 without JSON
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
      // The key of this server and the token of a caller are for the address that the operator named, and no other.
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
      throw new ProviderUnavailableError(`the answer has more than ${MAX_RESPONSE_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length).toString()
}

/** The kind of error alone: a message may quote the URL, or the answer. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = (error.cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}

const LOG_INTERVAL_MS = 60_000

/** Says in the log that something of the provider does not work, once a minute at most, and that it works again. */
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
    this.#log.warn({ reason }, `${this.#subject} cannot be had from the identity provider`)
  }

  reportRecovery(): void {
    if (!this.#isReported) return
    this.#isReported = false
    this.#log.info(`${this.#subject} can be had from the identity provider again`)
  }
}
