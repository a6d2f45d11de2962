// The text of messages, without their other parts.
import type { ChatMessage } from '../../../generated/types.ts'

/** Joins the text parts by line breaks; empty where there are none. */
export function joinMessageText({ content }: Pick<ChatMessage, 'content'>): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text as string] : [])).join('\n')
}
