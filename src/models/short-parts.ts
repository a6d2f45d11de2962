// Long texts of an answer, cut: each piece is looked through for secrets, told and encoded at once, and a server may give megabytes in one.
import { cuts } from '../cuts.ts'
import type { CompletionPart } from './provider.ts'

/** An answer's part but its end. */
type Part = Exclude<CompletionPart, { type: 'end' }>

/** In characters: looked through and told in a millisecond or so. */
const LONGEST = 65_536

const textOf = (part: Part) => (part.type === 'tool_call' ? part.arguments : part.text)

export function isShort(part: Part): boolean {
  return textOf(part).length <= LONGEST
}

/** A long text in pieces. */
export function shortTexts(text: string): readonly string[] {
  return text.length <= LONGEST ? [text] : cuts(text, LONGEST)
}

/** A part as several that come to the same. */
export function shortParts(part: Part): Part[] {
  return shortTexts(textOf(part)).map((text, at): Part => {
    if (part.type !== 'tool_call') return { type: part.type, text }
    return at === 0 ? { ...part, arguments: text } : { type: 'tool_call', index: part.index, arguments: text }
  })
}
