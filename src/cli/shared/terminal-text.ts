// Texts for a terminal: harmless, of a known width, and coloured if wanted; and numbers for people.
import { stripVTControlCharacters, styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Colours a text, or leaves it unchanged. */
export type PaintText = (style: Style, text: string) => string

export const paintInColor: PaintText = (style, text) => styleText(style, text, { validateStream: false })
export const paintPlain: PaintText = (_style, text) => text

/** Characters that could make a line mislead: control characters, marks that change the direction of writing, and line separators. */
const MISLEADING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const MISLEADING_BUT_LINES = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** A text of a workflow as one line, without anything that a terminal would execute. */
export function toSingleLine(text: string): string {
  return stripVTControlCharacters(text).replace(/\s+/g, ' ').replace(MISLEADING, '')
}

/** The same for a text of several lines. */
export function stripControlCharacters(text: string): string {
  return stripVTControlCharacters(text).replace(MISLEADING_BUT_LINES, '')
}

/** A path or other input, with a mark in the place of everything that a terminal would execute. */
export function replaceControlCharacters(text: string): string {
  return text.replace(MISLEADING, '\ufffd')
}

const ASCII = /^[ -~]*$/
/** Characters that take two columns (Unicode Standard Annex 11, roughly). */
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u
const MARKS_ONLY = /^[\p{M}\u200b-\u200d]+$/u
let graphemes: Intl.Segmenter | undefined

/** The characters of a text as people count them. The segmenter is created at its first use, since that is slow. */
function splitGraphemes(text: string): Intl.Segments {
  graphemes ??= new Intl.Segmenter()
  return graphemes.segment(text)
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2
  return MARKS_ONLY.test(grapheme) ? 0 : 1
}

/** The number of columns of a text. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let columns = 0
  for (const { segment } of splitGraphemes(text)) columns += graphemeWidth(segment)
  return columns
}

/** A text cut to `columns`, with an ellipsis if it is cut. */
export function truncateToWidth(text: string, columns: number): string {
  // A longer text is cut without measuring all of its width.
  const sample = text.length > columns * 8 ? text.slice(0, columns * 8) : text
  if (sample === text && displayWidth(text) <= columns) return text
  let shown = ''
  let left = columns - 1
  for (const { segment } of splitGraphemes(sample)) {
    left -= graphemeWidth(segment)
    if (left < 0) break
    shown += segment
  }
  return `${shown}…`
}

/** A text of exactly `columns`: cut, or filled with spaces. */
export function fitToWidth(text: string, columns: number): string {
  const shown = truncateToWidth(text, columns)
  return shown + ' '.repeat(Math.max(0, columns - displayWidth(shown)))
}

/** A narrower column is harder to read than a column that begins further left. */
const LEAST_COLUMN = 30
const NARROW_INDENT = 4

/**
 * `first` and the text after it, broken at spaces into lines of at most `columns`; only a longer word makes a longer line. Lines after the first
 * begin with `indent` spaces.
 */
export function wrapText(first: string, text: string, columns: number, indent = displayWidth(first)): string {
  if (columns === Number.POSITIVE_INFINITY) return first + text
  const left = ' '.repeat(columns - indent < LEAST_COLUMN ? Math.min(indent, NARROW_INDENT) : indent)
  const [start = '', ...words] = text.split(' ')
  const lines = [first + start]
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`
    if (displayWidth(longer) <= columns) lines[lines.length - 1] = longer
    else lines.push(left + word)
  }
  return lines.join('\n')
}

/** `12 ms`, `1.2 s`, `3 min 04 s`, `2 h 05 min`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const two = (value: number) => String(value).padStart(2, '0')
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} min`
}

/** `12,345`. Loading the rules of a locale is slow, and small numbers do not need them. */
export function formatInteger(count: number): string {
  return count < 1000 ? String(count) : count.toLocaleString('en-US')
}

/** `1 node`, `12,345 nodes`. */
export function pluralize(count: number, noun: string): string {
  return `${formatInteger(count)} ${noun}${count === 1 ? '' : 's'}`
}
