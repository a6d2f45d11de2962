// What a workflow takes of a conversation: the last text of the user, or all messages as nodes take them. What it has no use for is refused.
import type { ChatCompletionRequest, ChatMessage } from '../../../generated/types.ts'
import { ServiceError } from '../../errors.ts'
import { joinMessageText } from '../../models/calls/message-text.ts'
import type { ConversationMapping } from './conversation-mapping.ts'

/** A message as the nodes that talk with models take it. */
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

/** Keys of messages that a workflow hears nothing of. */
const UNSUPPORTED_KEYS = ['name', 'tool_calls', 'function_call', 'refusal', 'audio'] as const

/** What the input of a workflow is given. @throws INVALID_REQUEST with the place of what it cannot take */
export function createWorkflowInput(
  { messages }: ChatCompletionRequest,
  takes: ConversationMapping['takes'],
): string | WorkflowMessage[] {
  if (takes === 'messages') return messages.map(toWorkflowMessage)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  if (last < 0)
    throw createParamError('messages', 'A workflow answers the last message of the user, and there is none.')
  return toWorkflowMessage(messages[last]!, last).content
}

/** The words of a conversation, for estimates. */
export function joinMessageTexts(input: string | readonly WorkflowMessage[]): string {
  return typeof input === 'string' ? input : input.map(({ content }) => content).join('\n')
}

function toWorkflowMessage(message: ChatMessage, index: number): WorkflowMessage {
  const at = `messages[${index}]`
  const role = ROLES[message.role]
  if (role === undefined)
    throw createParamError(`${at}.role`, `A workflow takes no messages of the role "${message.role}".`)
  const given = message as unknown as Readonly<Record<string, unknown>>
  const unheard = UNSUPPORTED_KEYS.find((key) => !isEmpty(given[key]))
  if (unheard !== undefined) throw createParamError(`${at}.${unheard}`, `A workflow takes no ${unheard} of a message.`)
  const parts = Array.isArray(message.content) ? message.content : []
  const other = parts.findIndex(({ type }) => type !== 'text')
  if (other >= 0) throw createParamError(`${at}.content[${other}]`, 'A workflow takes text parts only.')
  return { role, content: joinMessageText(message) }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function createParamError(param: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, param })
}
