// The text of messages, whatever else is in them.
import type { ChatMessage } from '../../../generated/types.ts'

/** Its text parts, joined by line breaks; empty where it has none. */
export function joinMessageText({ content }: Pick<ChatMessage, 'content'>): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text as string] : [])).join('\n')
}
