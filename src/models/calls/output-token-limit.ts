// How long an answer may become: what the caller sets, what is left of a sum of several answers, and what the model gives at most.
import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { CompletionRequest } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'

/** Every model gives as many. One of which nobody knows how many it gives may refuse more. */
const SAFE_OUTPUT_TOKENS = 4_096

/** `left`: how much of a sum of several answers is left; the model may well give less. @throws ProviderError where it cannot give what is asked */
export function limitOutputTokens(
  found: ResolvedModel,
  body: CompletionRequest,
  remainingTokens: number | null,
): CompletionRequest {
  guardOutputLimit(found, body)
  const requestedTokens = body.max_completion_tokens ?? body.max_tokens ?? null
  if (remainingTokens === null || (requestedTokens !== null && requestedTokens <= remainingTokens)) return body
  const { max_output_tokens: modelMaximum } = found.model
  if (modelMaximum === null && requestedTokens === null && remainingTokens > SAFE_OUTPUT_TOKENS) return body
  const { max_tokens: _, ...others } = body
  return { ...others, max_completion_tokens: Math.min(remainingTokens, modelMaximum ?? remainingTokens) }
}

function guardOutputLimit(
  { provider, model }: ResolvedModel,
  { max_completion_tokens, max_tokens }: CompletionRequest,
): void {
  const modelMaximum = model.max_output_tokens
  const requestedTokens = max_completion_tokens ?? max_tokens ?? null
  if (modelMaximum === null || requestedTokens === null || requestedTokens <= modelMaximum) return
  const text = `The model "${provider.name}/${model.name}" gives at most ${modelMaximum} tokens, and not ${requestedTokens}.`
  throw new ProviderError('unsupported', text, {
    param: max_completion_tokens ? 'max_completion_tokens' : 'max_tokens',
  })
}
