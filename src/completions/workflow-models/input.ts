// Converts a conversation to the input of a workflow: the last text of the user, or all messages in the form that nodes
// accept. Unsupported fields are refused.
import type { ChatCompletionRequest, ChatMessage } from '../../../generated/types.ts'
import { ServiceError } from '../../errors.ts'
import { joinMessageText } from '../../models/calls/message-text.ts'
import type { ConversationMapping } from './conversation-mapping.ts'

/** A message in the form that chat nodes accept. */
export interface WorkflowMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

const ROLES: Readonly<Record<string, WorkflowMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
}

/** Message fields that workflows do not receive. */
const UNSUPPORTED_KEYS = ['name', 'tool_calls', 'function_call', 'refusal', 'audio'] as const

/** @throws INVALID_REQUEST with the location of unsupported content */
export function createWorkflowInput(
  { messages }: ChatCompletionRequest,
  takes: ConversationMapping['takes'],
): string | WorkflowMessage[] {
  if (takes === 'messages') return messages.map(toWorkflowMessage)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  if (last < 0)
    throw createParamError('messages', 'A workflow answers the last message of the user, but the request has none.')
  return toWorkflowMessage(messages[last]!, last).content
}

/** The text of a conversation, for estimates. */
export function joinMessageTexts(input: string | readonly WorkflowMessage[]): string {
  return typeof input === 'string' ? input : input.map(({ content }) => content).join('\n')
}

function toWorkflowMessage(message: ChatMessage, index: number): WorkflowMessage {
  const at = `messages[${index}]`
  const role = ROLES[message.role]
  if (role === undefined)
    throw createParamError(`${at}.role`, `A workflow takes no messages with the role "${message.role}".`)
  const given = message as unknown as Readonly<Record<string, unknown>>
  const unsupported = UNSUPPORTED_KEYS.find((key) => !isEmpty(given[key]))
  if (unsupported !== undefined)
    throw createParamError(`${at}.${unsupported}`, `A workflow takes no ${unsupported} of a message.`)
  const parts = Array.isArray(message.content) ? message.content : []
  const other = parts.findIndex(({ type }) => type !== 'text')
  if (other >= 0) throw createParamError(`${at}.content[${other}]`, 'A workflow takes only text parts.')
  return { role, content: joinMessageText(message) }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function createParamError(param: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, param })
}
