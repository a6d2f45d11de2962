// Makes the title of a thread without one, from the start of its first message.
import type { MessageContent } from '../../../generated/types.ts'

/** In characters; a longer title ends with an ellipsis. */
const MAX_LENGTH = 80
/** If the last word starts before this position it is cut inside the word: otherwise the title would be too short. */
const MIN_LENGTH = 40

/** Null if the message has no text. */
export function createTitle(content: MessageContent): string | null {
  const text = typeof content === 'string' ? content : findFirstText(content)
  // A short title does not need all of a long text.
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
  // Removes half of a surrogate pair.
  return words
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd()
    .toWellFormed()
}
