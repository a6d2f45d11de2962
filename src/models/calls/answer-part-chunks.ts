// Cuts long texts of an answer: a server may send megabytes in one part, and each part is redacted, sent and encoded in one go.
import { chunkText } from '../../shared/text-chunks.ts'
import type { CompletionPart } from '../provider.ts'

/** A part of an answer, except its end. */
type ContentPart = Exclude<CompletionPart, { type: 'end' }>

/** In characters. A piece of this length is redacted and sent in about a millisecond. */
const MAX_CHUNK_LENGTH = 65_536

const readPartText = (part: ContentPart) => (part.type === 'tool_call' ? part.arguments : part.text)

export function isShortPart(part: ContentPart): boolean {
  return readPartText(part).length <= MAX_CHUNK_LENGTH
}

export function chunkLongText(text: string): readonly string[] {
  return text.length <= MAX_CHUNK_LENGTH ? [text] : chunkText(text, MAX_CHUNK_LENGTH)
}

/** Splits a part into parts with the same content. */
export function chunkPart(part: ContentPart): ContentPart[] {
  return chunkLongText(readPartText(part)).map((text, at): ContentPart => {
    if (part.type !== 'tool_call') return { type: part.type, text }
    return at === 0 ? { ...part, arguments: text } : { type: 'tool_call', index: part.index, arguments: text }
  })
}
