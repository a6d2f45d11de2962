// How long an answer may become: what the caller sets, what is left of a sum of several answers, and what the model gives at most.
import type { Found } from './finding.ts'
import type { CompletionRequest } from './provider.ts'
import { ProviderError } from './provider-error.ts'

/** Every model gives as many. One of which nobody knows how many it gives may refuse more. */
const EVERYBODY_GIVES = 4_096

/** `left`: how much of a sum of several answers is left; the model may well give less. @throws ProviderError where it cannot give what is asked */
export function limited(found: Found, body: CompletionRequest, left: number | null): CompletionRequest {
  guardLimit(found, body)
  const asked = body.max_completion_tokens ?? body.max_tokens ?? null
  if (left === null || (asked !== null && asked <= left)) return body
  const { max_output_tokens: most } = found.model
  if (most === null && asked === null && left > EVERYBODY_GIVES) return body
  const { max_tokens: _, ...others } = body
  return { ...others, max_completion_tokens: Math.min(left, most ?? left) }
}

function guardLimit({ provider, model }: Found, { max_completion_tokens, max_tokens }: CompletionRequest): void {
  const most = model.max_output_tokens
  const asked = max_completion_tokens ?? max_tokens ?? null
  if (most === null || asked === null || asked <= most) return
  const text = `The model "${provider.name}/${model.name}" gives at most ${most} tokens, and not ${asked}.`
  throw new ProviderError('unsupported', text, {
    param: max_completion_tokens ? 'max_completion_tokens' : 'max_tokens',
  })
}
