// Pieces of Markdown (CommonMark, with the tables of GitHub): texts that mean themselves, addresses, code, tables, and blocks below each other.
import { guardTextLength } from '../shared/value-limits.ts'

/** `line` is text that no paragraph holds: a list may follow it closely. */
export interface MarkdownBlock {
  readonly kind: 'line' | 'list' | 'other'
  readonly text: string
}

/** A text that means nothing but itself inside of a line. */
export function escapeInlineText(text: string): string {
  return text.replaceAll(/[\\`*_~[\]]|<(?=[A-Za-z/!?])|&(?=#?\w{1,40};)/g, '\\$&')
}

/** A line that begins as nothing else than a line: no heading, no item of a list, no quote, no rule. */
export function escapeLineStarts(text: string): string {
  return text
    .replaceAll(/^(?=[>=~]|#{1,6}(?:\s|$)|[+-](?:[\s+-]|$))/gm, '\\')
    .replaceAll(/^(\d{1,9})(?=[.)](?:\s|$))/gm, '$1\\')
}

/** Marks around a text, with the white space at its ends outside of them. */
export function wrapInMarks(text: string, before: string, after = before): string {
  const inner = text.trim()
  if (inner === '') return text === '' ? '' : ' '
  const lead = /^\s/.test(text) ? ' ' : ''
  return `${lead}${before}${inner}${after}${/\s$/.test(text) ? ' ' : ''}`
}

const SAFE_URL = /^(?:https?:|mailto:|tel:|ftp:|(?![a-z][a-z0-9+.-]*:))/i

/** An address as it stands in brackets, or null for none and for those that run code or are files themselves. */
export function sanitizeUrl(given: string | undefined): string | null {
  // Browsers leave out what stands in the way of seeing the scheme.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  const address = given?.replaceAll(/[\u0000-\u001f]/g, '').trim() ?? ''
  if (address === '' || !SAFE_URL.test(address)) return null
  return address.replaceAll(/[\s<>()\\]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

export function formatInlineCode(text: string): string {
  const code = text.replaceAll(/\s+/g, ' ').trim()
  if (code === '') return text === '' ? '' : ' '
  const fence = '`'.repeat(longestBacktickRun(code) + 1)
  const pad = code.startsWith('`') || code.endsWith('`') ? ' ' : ''
  return `${fence}${pad}${code}${pad}${fence}`
}

export function formatCodeBlock(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestBacktickRun(text) + 1))
  return `${fence}${language}\n${text.replace(/^\n/, '').trimEnd()}\n${fence}`
}

function longestBacktickRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
}

/** The first row names the columns. Shorter rows are filled up. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0)
  if (width === 0) return ''
  // Short rows are filled up to the longest one.
  guardTextLength(rows.length * width * ' | '.length)
  const lines = rows.map((row) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? '').join(' | ')} |`)
  return [lines[0], `|${' --- |'.repeat(width)}`, ...lines.slice(1)].join('\n')
}

export function joinBlocks(blocks: readonly MarkdownBlock[]): string {
  let text = ''
  let before: MarkdownBlock | null = null
  for (const block of blocks) {
    if (before) text += before.kind === 'line' && block.kind === 'list' ? '\n' : '\n\n'
    text += block.text
    before = block
  }
  return text
}

/** A text whose first line begins with one thing, and all others with another. */
export function prefixLines(text: string, first: string, others: string): string {
  const empty = others.trimEnd()
  return text
    .split('\n')
    .map((line, at) => (at === 0 ? first + line : line === '' ? empty : others + line))
    .join('\n')
}
