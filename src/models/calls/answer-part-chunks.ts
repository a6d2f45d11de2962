// Long texts of an answer, cut: each piece is looked through for secrets, told and encoded at once, and a server may give megabytes in one.
import { chunkText } from '../../shared/text-chunks.ts'
import type { CompletionPart } from '../provider.ts'

/** An answer's part but its end. */
type ContentPart = Exclude<CompletionPart, { type: 'end' }>

/** In characters: looked through and told in a millisecond or so. */
const MAX_CHUNK_LENGTH = 65_536

const readPartText = (part: ContentPart) => (part.type === 'tool_call' ? part.arguments : part.text)

export function isShortPart(part: ContentPart): boolean {
  return readPartText(part).length <= MAX_CHUNK_LENGTH
}

/** A long text in pieces. */
export function chunkLongText(text: string): readonly string[] {
  return text.length <= MAX_CHUNK_LENGTH ? [text] : chunkText(text, MAX_CHUNK_LENGTH)
}

/** A part as several that come to the same. */
export function chunkPart(part: ContentPart): ContentPart[] {
  return chunkLongText(readPartText(part)).map((text, at): ContentPart => {
    if (part.type !== 'tool_call') return { type: part.type, text }
    return at === 0 ? { ...part, arguments: text } : { type: 'tool_call', index: part.index, arguments: text }
  })
}
