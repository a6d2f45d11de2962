// What a workflow takes of a conversation: the last text of the user, or all messages as nodes take them. What it has no use for is refused.
import type { ChatCompletionRequest, ChatMessage } from '../../generated/types.ts'
import { ServiceError } from '../errors.ts'
import { textOf } from '../models/message-text.ts'
import type { Face } from './workflow-faces.ts'

/** A message as the nodes that talk with models take it. */
export interface PlainMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

const ROLES: Readonly<Record<string, PlainMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
}

/** Keys of messages that a workflow hears nothing of. */
const UNHEARD = ['name', 'tool_calls', 'function_call', 'refusal', 'audio'] as const

/** What the input of a workflow is given. @throws INVALID_REQUEST with the place of what it cannot take */
export function workflowInput({ messages }: ChatCompletionRequest, takes: Face['takes']): string | PlainMessage[] {
  if (takes === 'messages') return messages.map(plain)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  if (last < 0) throw refused('messages', 'A workflow answers the last message of the user, and there is none.')
  return plain(messages[last]!, last).content
}

/** The words of a conversation, for estimates. */
export function wordsOf(input: string | readonly PlainMessage[]): string {
  return typeof input === 'string' ? input : input.map(({ content }) => content).join('\n')
}

function plain(message: ChatMessage, index: number): PlainMessage {
  const at = `messages[${index}]`
  const role = ROLES[message.role]
  if (role === undefined) throw refused(`${at}.role`, `A workflow takes no messages of the role "${message.role}".`)
  const given = message as unknown as Readonly<Record<string, unknown>>
  const unheard = UNHEARD.find((key) => !isEmpty(given[key]))
  if (unheard !== undefined) throw refused(`${at}.${unheard}`, `A workflow takes no ${unheard} of a message.`)
  const parts = Array.isArray(message.content) ? message.content : []
  const other = parts.findIndex(({ type }) => type !== 'text')
  if (other >= 0) throw refused(`${at}.content[${other}]`, 'A workflow takes text parts only.')
  return { role, content: textOf(message) }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function refused(param: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { message, param })
}
