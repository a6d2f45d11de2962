// Converts a request from OpenAI's form for a local model. Fields that the model cannot honour are refused before it is loaded.

import { joinMessageText } from '../../calls/message-text.ts'
import type { CompletionRequest } from '../../provider.ts'
import { ProviderError } from '../../provider-error.ts'
import { rejectUnsupportedFields } from '../shared/unsupported-fields.ts'
import type { LocalConversationTurn, LocalRequest } from './process-messages.ts'
import { createLocalSchema } from './response-schema.ts'

const SUPPORTED_FIELDS = [
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

/** The defaults of llama.cpp. */
const DEFAULT_TEMPERATURE = 0.8
const DEFAULT_TOP_P = 0.95

const ROLES_BY_MESSAGE_ROLE: Readonly<Record<string, LocalConversationTurn['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
}

/** @throws ProviderError `unsupported` */
export function createLocalRequest(request: CompletionRequest, provider: string): LocalRequest {
  rejectUnsupportedFields(request, { fields: SUPPORTED_FIELDS }, provider)
  const { max_completion_tokens, max_tokens, temperature, top_p, seed, stop } = request
  return {
    turns: request.messages.map((message, at) => createTurn(message, at)),
    max_tokens: max_completion_tokens ?? max_tokens ?? null,
    temperature: temperature ?? DEFAULT_TEMPERATURE,
    top_p: top_p ?? DEFAULT_TOP_P,
    seed: seed ?? null,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    frequency_penalty: request.frequency_penalty ?? 0,
    presence_penalty: request.presence_penalty ?? 0,
    schema: createLocalSchema(request.response_format ?? null),
  }
}

function createTurn(message: CompletionRequest['messages'][number], at: number): LocalConversationTurn {
  const role = ROLES_BY_MESSAGE_ROLE[message.role]
  const calls = message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0
  if (role === undefined || calls) {
    const text = 'Local models take no tool calls and no tool results.'
    throw new ProviderError('unsupported', text, { param: `messages[${at}].${calls ? 'tool_calls' : 'role'}` })
  }
  return { role, text: joinMessageText(message) }
}
