// The title of a thread whose owner has given it none: the beginning of its first message.
import type { MessageContent } from '../../../generated/types.ts'

/** In characters; a longer one ends with an ellipsis. */
const MAX_LENGTH = 80
/** A last word that begins before this is not cut off as a whole: the title would be too short. */
const MIN_LENGTH = 40

/** Null where the message has no text. */
export function createTitle(content: MessageContent): string | null {
  const text = typeof content === 'string' ? content : findFirstText(content)
  // A long text is not looked through for a short title.
  const line = text
    .slice(0, 20 * MAX_LENGTH)
    .replace(/\s+/g, ' ')
    .trim()
  if (line === '') return null
  return line.length <= MAX_LENGTH ? line.toWellFormed() : `${shortenLine(line)}…`
}

function findFirstText(content: Exclude<MessageContent, string>): string {
  for (const part of content ?? []) if (part.type === 'text' && part.text.trim() !== '') return part.text
  return ''
}

function shortenLine(line: string): string {
  const cut = line.slice(0, MAX_LENGTH - 1)
  const space = cut.lastIndexOf(' ')
  const words = space >= MIN_LENGTH && line[MAX_LENGTH - 1] !== ' ' ? cut.slice(0, space) : cut
  // Half a character is none.
  return words
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()
    .toWellFormed()
}
