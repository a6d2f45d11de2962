// What a call used that a gateway hands on: by the provider's own count, and counted here where that says nothing, or zero where there was text.
import type { ChatCompletionRequest } from '../../generated/types.ts'
import type { ModelUse } from '../engine/services.ts'
import type { Found } from '../models/finding.ts'
import { textOf } from '../models/message-text.ts'
import { costOf } from '../models/prices.ts'
import type { Provider } from '../models/provider.ts'
import { guessedTokens, tokensOf } from '../models/tokens.ts'
import type { Counted } from './chunk-facts.ts'

/** `length`: of what the model wrote, in bytes. */
export function completed(
  { provider }: Found,
  { messages }: Pick<ChatCompletionRequest, 'messages'>,
  length: number,
  counted: Counted | null,
): Counted {
  return {
    input_tokens: counted?.input_tokens || sentTokens(provider, messages) || 1,
    output_tokens: counted?.output_tokens || guessedTokens(length),
    ...(counted?.cost === undefined ? {} : { cost: counted.cost }),
  }
}

/** By the messages of a request, which goes to one provider: a stream may ask for it with each of very many events, and it takes long to count. */
const sent = new WeakMap<object, number>()

function sentTokens(provider: Provider, messages: ChatCompletionRequest['messages']): number {
  const tokens = sent.get(messages) ?? tokensOf(provider, messages.map(textOf).join('\n'))
  sent.set(messages, tokens)
  return tokens
}

/** The same of an answer that is not all there: the last count, and the last cost, may be older than what was written last. */
export function brokenOff(...[found, body, length, counted]: Parameters<typeof completed>): Counted {
  const { input_tokens, output_tokens } = completed(found, body, length, counted)
  return { input_tokens, output_tokens: Math.max(output_tokens, guessedTokens(length)) }
}

export function useOf({ provider, model }: Found, counted: Counted): ModelUse {
  const { input_tokens, output_tokens } = counted
  const cost = costOf(model.price, { input_tokens, output_tokens, cost: counted.cost ?? null })
  return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens, cost }
}
