// Pieces of Markdown (CommonMark with GitHub tables): escaped texts, URLs, code, tables, and joined blocks.
import { guardTextLength } from '../shared/value-limits.ts'

/** `line` is text outside of a paragraph, which a list may follow without an empty line. */
export interface MarkdownBlock {
  readonly kind: 'line' | 'list' | 'other'
  readonly text: string
}

/** Escapes a text so that no character of it is Markdown syntax inside a line. */
export function escapeInlineText(text: string): string {
  return text.replaceAll(/[\\`*_~[\]]|<(?=[A-Za-z/!?])|&(?=#?\w{1,40};)/g, '\\$&')
}

/** Escapes the starts of lines, so that none becomes a heading, list item, quote or rule. */
export function escapeLineStarts(text: string): string {
  return text
    .replaceAll(/^(?=[>=~]|#{1,6}(?:\s|$)|[+-](?:[\s+-]|$))/gm, '\\')
    .replaceAll(/^(\d{1,9})(?=[.)](?:\s|$))/gm, '$1\\')
}

/** Puts marks around a text, and keeps white space at its ends outside of them. */
export function wrapInMarks(text: string, before: string, after = before): string {
  const inner = text.trim()
  if (inner === '') return text === '' ? '' : ' '
  const lead = /^\s/.test(text) ? ' ' : ''
  return `${lead}${before}${inner}${after}${/\s$/.test(text) ? ' ' : ''}`
}

const SAFE_URL = /^(?:https?:|mailto:|tel:|ftp:|(?![a-z][a-z0-9+.-]*:))/i

/** A URL in the form for brackets, or null if it is missing, runs code (javascript:) or holds data (data:). */
export function sanitizeUrl(given: string | undefined): string | null {
  // Browsers ignore control characters, which could hide the scheme.
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

/** The first row has the column names. Shorter rows are filled up. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const width = rows.reduce((most, row) => Math.max(most, row.length), 0)
  if (width === 0) return ''
  // Short rows are filled up to the longest row, which may multiply the size.
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

/** Prefixes the first line of a text with `first`, and all other lines with `others`. */
export function prefixLines(text: string, first: string, others: string): string {
  const empty = others.trimEnd()
  return text
    .split('\n')
    .map((line, at) => (at === 0 ? first + line : line === '' ? empty : others + line))
    .join('\n')
}
