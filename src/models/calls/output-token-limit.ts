// Limits the length of an answer by the caller's setting, the tokens that remain for several answers, and the model's maximum.
import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { CompletionRequest } from '../provider.ts'
import { ProviderError } from '../provider-error.ts'

/** Every model can give this many. A model with an unknown maximum may refuse a higher limit. */
const SAFE_OUTPUT_TOKENS = 4_096

/** `remainingTokens`: what remains for several answers together. @throws ProviderError `unsupported` where the request exceeds the model's maximum */
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
