// Ways to break the second client, one for each scenario: what each must fail is the table in scenarios.test.ts.
export const FLAWS = [
  'same-request-id',
  'latest-answer-wins',
  'any-answer',
  'answers-in-order',
  'fatal-unknown-frame',
  'strict-fields',
  'events-of-any-job',
  'trusts-the-frame',
  'keeps-duplicates',
  'order-of-arrival',
  'hands-on-unknown',
  'passes-over-gaps',
  'waits-for-expired',
  'events-only-end',
  'last-output-wins',
  'late-answer-rules',
  'older-snapshot-rules',
  'never-final',
  'sequences-32-bits',
  'suspended-ends',
  'recovering-ends',
  'queued-is-refused',
  'resubmits-failed',
  'reads-error',
  'lost-subscription-fails',
  'resubmits-after-loss',
  'after-snapshot-sequence',
  'starts-over',
  'loss-is-end',
  'loss-is-cancelled',
  'cancels-once',
  'close-is-fatal',
  'no-backoff',
  'waits-in-silence',
  'no-pong',
  'text-only',
  'acknowledgement-as-text',
  'new-key-on-retry',
  'new-body-on-retry',
  'retryable-is-final',
  'new-key-after-internal-error',
  'ignores-retry-after',
  'list-of-codes',
  'every-503-again',
  'new-key-after-conflict',
  'same-etag-again',
  'retries-preflight-failed',
  'ignores-runnable',
  'hasty',
  'assumes-jobs',
  'runs-again',
  'asks-without-end',
  'expired-is-not-found',
  'acknowledgement-is-end',
  'accepted-is-cancelled',
  'waits-after-cancelled',
  'cancel-means-cancelled',
  'one-token',
  'tries-refused-token',
  'paths-as-they-are',
  'compares-text',
  'unescaped-name',
  'uploads-again',
  'half-answer-is-final',
] as const

export type Flaw = (typeof FLAWS)[number]

/** An error that the server gave, or that the connection gave. */
export class ClientError extends Error {
  readonly code: string
  readonly retryable: boolean
  /** Seconds that the server asked to wait for. */
  readonly retry_after: number | null

  constructor(code: string, retryable: boolean, retry_after: number | null = null) {
    super(code)
    this.code = code
    this.retryable = retryable
    this.retry_after = retry_after
  }
}

export interface Settings {
  readonly url: string
  readonly tokens: readonly string[]
  readonly pace: number
  readonly encoding: 'messagepack' | 'json-text'
  /** How submissions, cancellations and capabilities travel. */
  readonly door: 'http' | 'socket'
  readonly flaws: ReadonlySet<Flaw>
  readonly signal: AbortSignal
}

/** The tokens of a client: one at a time, the next where one is refused. */
export class Tokens {
  readonly #settings: Settings
  #at = 0

  constructor(settings: Settings) {
    this.#settings = settings
  }

  get current(): string {
    return this.#settings.tokens[this.#at]!
  }

  /** Goes on to the next token. @throws ClientError where there is none */
  refused(token: string): void {
    const { flaws, tokens } = this.#settings
    if (flaws.has('one-token') || flaws.has('tries-refused-token') || token !== this.current) return
    this.#at += 1
    if (this.#at >= tokens.length) throw new ClientError('AUTHENTICATION_REQUIRED', false)
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new ClientError('ABORTED', false))
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(new ClientError('ABORTED', false))
    })
  })
}
