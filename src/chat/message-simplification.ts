// What cannot be sent of older exchanges is told in words in its place: one picture that is gone, or that another model does not take, must not end
// a thread.
import type { ChatMessage, ContentPart, ToolCall } from '../../generated/types.ts'
import { ServiceError } from '../errors.ts'

const NOTES: Readonly<Record<string, string>> = {
  image_url: '[A picture that could not be sent to you.]',
  input_audio: '[A sound that could not be sent to you.]',
  file: '[A file that could not be sent to you.]',
}

/**
 * The conversation with less than `refused` says cannot be sent: of the older message that it names, or of all of them where it names nothing, or
 * with `all`. Null where that would be no other one, or the newest message of the user is to blame.
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

/** The same message where it is plain. */
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
