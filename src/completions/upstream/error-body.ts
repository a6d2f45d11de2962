// Failures that servers tell in the place of an answer, with a status that says that all is well, or within one: in each of the ways in which they do.
import { toModelCallError } from '../../models/calls/model-answer.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { ProviderError } from '../../models/provider-error.ts'
import { stringifyErrorBody } from '../../models/providers/openai/error-body.ts'
import { createStreamError } from '../../models/providers/openai/errors.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { JsonRecord } from '../json/values.ts'
import { parseUsage, type ReportedUsage } from './chunk-scan.ts'

/** What a server told. Its words are for the log alone, and may hold its key. */
export class UpstreamErrorBody extends MalformedDataError {
  /** JSON text with the server's error object. */
  readonly text: string
  /** What its server counts all the same; null: nothing. */
  readonly reported_usage: ReportedUsage | null

  /** `usage`: what stands beside it. */
  constructor(told: Readonly<JsonRecord>, usage?: unknown) {
    super('an error')
    this.text = stringifyErrorBody(told)
    const counted = parseUsage(usage)
    this.reported_usage = isNonZeroUsage(counted) ? counted : null
  }
}

/** Whether it counts anything: some say zeros. */
export function isNonZeroUsage(counted: ReportedUsage | null): counted is ReportedUsage {
  return counted !== null && Boolean(counted.input_tokens || counted.output_tokens || counted.cost)
}

/** Why a provider gave no answer, or not all of it, in words that are safe to show. */
export function toProviderError({ provider, credential }: ResolvedModel, cause: unknown): ProviderError {
  if (!(cause instanceof UpstreamErrorBody)) return toModelCallError(provider.name, cause)
  return createStreamError({ provider: provider.name, secret: provider.credential, credential }, cause.text)
}
