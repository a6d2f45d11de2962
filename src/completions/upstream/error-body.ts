// Errors that a server reports in an answer with a success status, instead of the answer or within it.
import { toModelCallError } from '../../models/calls/model-answer.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { ProviderError } from '../../models/provider-error.ts'
import { stringifyErrorBody } from '../../models/providers/openai/error-body.ts'
import { createStreamError } from '../../models/providers/openai/errors.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { JsonRecord } from '../json/values.ts'
import { parseUsage, type ReportedUsage } from './chunk-scan.ts'

/** The error of a server. Its text is only for the log, and may contain the API key. */
export class UpstreamErrorBody extends MalformedDataError {
  /** JSON text of the server's error object. */
  readonly text: string
  /** The usage that the server reports with the error; null for none. */
  readonly reported_usage: ReportedUsage | null

  /** `usage` is the usage next to the error. */
  constructor(error: Readonly<JsonRecord>, usage?: unknown) {
    super('an error')
    this.text = stringifyErrorBody(error)
    const counted = parseUsage(usage)
    this.reported_usage = isNonZeroUsage(counted) ? counted : null
  }
}

/** Some servers report only zeros. */
export function isNonZeroUsage(counted: ReportedUsage | null): counted is ReportedUsage {
  return counted !== null && Boolean(counted.input_tokens || counted.output_tokens || counted.cost)
}

/** Explains why a provider gave no complete answer, in words that are safe to show. */
export function toProviderError({ provider, credential }: ResolvedModel, cause: unknown): ProviderError {
  if (!(cause instanceof UpstreamErrorBody)) return toModelCallError(provider.name, cause)
  return createStreamError({ provider: provider.name, secret: provider.credential, credential }, cause.text)
}
