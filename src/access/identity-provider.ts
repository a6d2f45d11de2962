// Requests to the identity provider: bounded in time and size, never redirected. What an answer means is left to whoever asks.
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'

export interface IdentityTools {
  readonly platform: Pick<Platform, 'now'>
  readonly log: Log
  /** Resolves after so many milliseconds, or when the signal is given. */
  readonly wait: (ms: number, stopping: AbortSignal | null) => Promise<void>
  /** Users of the provider who are administrators. */
  readonly admin_users: ReadonlySet<string>
}

export interface ProviderRequests {
  /** Where the provider's interface begins; also the issuer of its tokens. */
  readonly base: string
  readonly fetch: typeof fetch
  /** How long an answer may take, in milliseconds. */
  readonly timeout_ms: number
  /** Ends what is under way. */
  readonly stopping: AbortSignal | null
}

/** Nobody can tell now. The message is for the log, and holds nothing that was sent. */
export class Unavailable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unavailable'
  }
}

/** So many bytes of an answer are read. A set of keys and a user are a few kilobytes. */
const LONGEST_ANSWER = 65_536

/**
 * One GET. Gives the status, and the JSON of a 200; of a 404 too, where it is JSON.
 * @throws Unavailable where there is no whole answer, or a 200 without JSON
 */
export async function ask(
  provider: ProviderRequests,
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
    if (response.status === 200) return { status: 200, body: JSON.parse(await textOf(response)) }
    if (response.status === 404) return { status: 404, body: jsonIn(await textOf(response)) }
    await response.body?.cancel()
    return { status: response.status, body: null }
  } catch (error) {
    throw error instanceof Unavailable ? error : new Unavailable(reasonOf(error))
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += piece.length
    if (length > LONGEST_ANSWER) throw new Unavailable(`the answer has more than ${LONGEST_ANSWER} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length).toString()
}

/** The kind of error alone: a message may quote the URL, or the answer. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { code } = (error.cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}

const QUIET_MS = 60_000

/** Says in the log that something of the provider does not work, once a minute at most, and that it works again. */
export class Outage {
  readonly #what: string
  readonly #log: Log
  #told_at = Number.NEGATIVE_INFINITY
  #told = false

  constructor(what: string, log: Log) {
    this.#what = what
    this.#log = log
  }

  begin(reason: string, now: number): void {
    if (Math.abs(now - this.#told_at) < QUIET_MS) return
    this.#told_at = now
    this.#told = true
    this.#log.warn({ reason }, `${this.#what} cannot be had from the identity provider`)
  }

  end(): void {
    if (!this.#told) return
    this.#told = false
    this.#log.info(`${this.#what} can be had from the identity provider again`)
  }
}
