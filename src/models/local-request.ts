// A request in OpenAI's form as a local model takes it; what it cannot honour is refused before the model is loaded.

import type { LocalRequest, LocalTurn } from './local-protocol.ts'
import { localSchema } from './local-schema.ts'
import { textOf } from './message-text.ts'
import type { CompletionRequest } from './provider.ts'
import { ProviderError } from './provider-error.ts'
import { refuseUnsupported } from './supported.ts'

const HONOURED = [
  'max_completion_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'seed',
  'stop',
  'frequency_penalty',
  'presence_penalty',
  'response_format',
]

/** As llama.cpp has them. */
const TEMPERATURE = 0.8
const TOP_P = 0.95

const ROLES: Readonly<Record<string, LocalTurn['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
}

/** @throws ProviderError `unsupported` */
export function localRequest(request: CompletionRequest, provider: string): LocalRequest {
  refuseUnsupported(request, { fields: HONOURED }, provider)
  const { max_completion_tokens, max_tokens, temperature, top_p, seed, stop } = request
  return {
    turns: request.messages.map((message, at) => turnOf(message, at)),
    max_tokens: max_completion_tokens ?? max_tokens ?? null,
    temperature: temperature ?? TEMPERATURE,
    top_p: top_p ?? TOP_P,
    seed: seed ?? null,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    frequency_penalty: request.frequency_penalty ?? 0,
    presence_penalty: request.presence_penalty ?? 0,
    schema: localSchema(request.response_format ?? null),
  }
}

function turnOf(message: CompletionRequest['messages'][number], at: number): LocalTurn {
  const role = ROLES[message.role]
  const calls = message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0
  if (role === undefined || calls) {
    const text = 'Local models are not shown calls of tools, nor what came of them.'
    throw new ProviderError('unsupported', text, { param: `messages[${at}].${calls ? 'tool_calls' : 'role'}` })
  }
  return { role, text: textOf(message) }
}
