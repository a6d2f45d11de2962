// What went wrong with a provider, in words that are safe to show, and what others may do about it.

/**
 * `unsupported`: it cannot honour a field. `rejected`: it says that the request is wrong. `no_key`: its credential is not there, or it refuses it.
 * `not_found`: it has no such model. `rate_limited`: it is asked too often. `failed`: it did not answer properly. `timed_out`: not in time.
 * `too_large`: its answer is longer than anybody takes. `over_budget`: what it may cost is spent. `unavailable`: on this server it cannot be
 * asked as things are, until somebody mends that: what runs it is not there, or its file is damaged.
 */
export type ProviderFault =
  | 'unsupported'
  | 'rejected'
  | 'no_key'
  | 'not_found'
  | 'rate_limited'
  | 'failed'
  | 'timed_out'
  | 'too_large'
  | 'over_budget'
  | 'unavailable'

interface ProviderErrorOptions {
  /** The field of the request that is to blame. */
  param?: string | null
  /** When it may be asked again. */
  retry_after_seconds?: number | null
  /** For the log alone. */
  cause?: unknown
}

/** The message is safe to show: it names the provider, and holds nothing of its credential. */
export class ProviderError extends Error {
  readonly fault: ProviderFault
  readonly param: string | null
  readonly retry_after_seconds: number | null

  constructor(
    fault: ProviderFault,
    message: string,
    { param = null, retry_after_seconds = null, cause }: ProviderErrorOptions = {},
  ) {
    super(message, { cause })
    this.name = 'ProviderError'
    this.fault = fault
    this.param = param
    this.retry_after_seconds = retry_after_seconds
  }
}

/** How a provider's key comes to be there: as a secret of whoever calls, or for all in the variable of the same name. */
export function explainMissingKey(secret: string): string {
  return `Set it with PUT /api/secrets/${secret}, or ${secret} in the server's environment.`
}
