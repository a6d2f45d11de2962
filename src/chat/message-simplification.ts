// Replaces content of older messages that cannot be sent with a note. A missing picture, or content that another model
// does not support, must not end a thread.
import type { ChatMessage, ContentPart, ToolCall } from '../../generated/types.ts'
import { ServiceError } from '../errors.ts'

const NOTES: Readonly<Record<string, string>> = {
  image_url: '[A picture that could not be sent to you.]',
  input_audio: '[A sound that could not be sent to you.]',
  file: '[A file that could not be sent to you.]',
}

/**
 * Simplifies the older message that the error names. Simplifies all older messages if the error names none, or if `all`
 * is true. Returns null if nothing changes, or if the error is about the newest message of the user.
 */
export function simplifyMessages(
  messages: readonly ChatMessage[],
  refused: unknown,
  all: boolean,
): ChatMessage[] | null {
  if (!(refused instanceof ServiceError) || refused.code !== 'INVALID_REQUEST') return null
  const newest = messages.findLastIndex(({ role }) => role === 'user')
  const named = refused.param === null ? null : Number(/^messages\D*(\d+)/.exec(refused.param)?.[1] ?? newest)
  if (named !== null && named >= newest) return null
  const isMeant = (at: number) => at < newest && (all || named === null || at === named)
  const simplified = messages.map((message, at) => (isMeant(at) ? simplifyMessage(message) : message))
  return simplified.some((message, at) => message !== messages[at]) ? simplified : null
}

/** Returns the same message if it needs no change. */
function simplifyMessage(message: ChatMessage): ChatMessage {
  if (message.role === 'user' && Array.isArray(message.content)) {
    const content = message.content as readonly ContentPart[]
    if (!content.some(({ type }) => type in NOTES)) return message
    return { ...message, content: content.map(replaceWithNote) } as ChatMessage
  }
  if (message.role !== 'assistant' || !message.tool_calls?.some(({ type }) => type === 'custom')) return message
  return { ...message, tool_calls: message.tool_calls.map(toFunctionCall) }
}

function replaceWithNote(part: ContentPart): ContentPart {
  const text = NOTES[part.type]
  return text === undefined ? part : { type: 'text', text }
}

function toFunctionCall(call: ToolCall): ToolCall {
  if (call.type !== 'custom') return call
  const { name, input } = call.custom
  return { id: call.id, type: 'function', function: { name, arguments: JSON.stringify({ input }) } }
}
