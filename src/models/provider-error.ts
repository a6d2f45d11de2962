// Errors of providers. Their messages are safe to show.

/**
 * `unsupported`: the provider cannot honour a field. `rejected`: the provider says that the request is wrong. `no_key`: the credential is missing or
 * refused. `not_found`: the provider has no such model. `rate_limited`: the provider gets too many requests. `failed`: the answer is invalid or missing.
 * `timed_out`: the answer is late. `too_large`: the answer is too long. `over_budget`: a spending limit is reached. `unavailable`: this server cannot
 * run the model until the operator repairs that: the runtime is missing, or the model's file is damaged.
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
  /** The field of the request that causes the error. */
  param?: string | null
  /** When the caller may try again. */
  retry_after_seconds?: number | null
  /** For the log alone. */
  cause?: unknown
}

/** The message is safe to show: it names the provider and contains no part of its credential. */
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

/** Tells how to set a provider's key: as a secret of the caller, or for all callers in the variable of the same name. */
export function explainMissingKey(secret: string): string {
  return `Set it with PUT /api/secrets/${secret}, or ${secret} in the server's environment.`
}
