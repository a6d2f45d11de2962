// Failures that servers tell in the place of an answer, with a status that says that all is well, or within one: in each of the ways in which they do.
import { faultOf } from '../models/answer.ts'
import { Malformed } from '../models/checked.ts'
import type { Found } from '../models/finding.ts'
import { errorInStream } from '../models/openai-errors.ts'
import { errorText } from '../models/openai-told.ts'
import type { ProviderError } from '../models/provider-error.ts'
import { type Counted, countedOf } from './chunk-facts.ts'
import type { Json } from './json-values.ts'

/** What a server told. Its words are for the log alone, and may hold its key. */
export class ToldFailure extends Malformed {
  /** JSON text with the server's error object. */
  readonly text: string
  /** What its server counts all the same; null: nothing. */
  readonly counted: Counted | null

  /** `usage`: what stands beside it. */
  constructor(told: Readonly<Json>, usage?: unknown) {
    super('an error')
    this.text = errorText(told)
    const counted = countedOf(usage)
    this.counted = isCount(counted) ? counted : null
  }
}

/** Whether it counts anything: some say zeros. */
export function isCount(counted: Counted | null): counted is Counted {
  return counted !== null && Boolean(counted.input_tokens || counted.output_tokens || counted.cost)
}

/** Why a provider gave no answer, or not all of it, in words that are safe to show. */
export function failureOf({ provider, credential }: Found, cause: unknown): ProviderError {
  if (!(cause instanceof ToldFailure)) return faultOf(provider.name, cause)
  return errorInStream({ provider: provider.name, secret: provider.credential, credential }, cause.text)
}
