// One line of Markdown that is being written, with the marks that are open in it: bold, links and the like.
import { escapeInlineText, formatInlineCode, sanitizeUrl, wrapInMarks } from './markdown-syntax.ts'

/** Around each other: of more of them, nothing but the text is written. */
const MOST_MARKS = 10

/** What stands on both sides of an element's text; '' for a link. */
export const INLINE_MARKS: Readonly<Record<string, string>> = {
  b: '**',
  strong: '**',
  i: '*',
  em: '*',
  del: '~~',
  s: '~~',
  code: '`',
  kbd: '`',
  a: '',
}

// A mark between a letter and a sign is none (CommonMark, "left-flanking delimiter run"): there, and between two marks, a space is put.
const WORD = /^[^\s\p{P}\p{S}]/u
const ENDS_IN_WORD = /[^\s\p{P}\p{S}]$/u
const BEGINS_WITH_SIGN = /^[\p{P}\p{S}]/u
const ENDS_WITH_SIGN = /[\p{P}\p{S}]$/u

interface InlineElement {
  /** What stands on both sides, or '' for a link. */
  readonly mark: string
  readonly address: string | null
  /** Joined at its end: the ends of long texts are looked at over and over. */
  readonly pieces: string[]
}

export class MarkdownLine {
  #open: InlineElement[] = []
  #line: string[] = []
  /** As it stands in the page: text comes in pieces, which mean something together. `&lt;b>` is two of them. */
  #pendingText = ''
  /** Whether what was written last is emphasized, and whether a sign is the last of that. */
  #endsEmphasized = false
  #endsWithSign = false

  /** Text of the page. */
  add(text: string): void {
    this.#pendingText += text
  }

  /** Markdown; `emphasized` is what stands between its marks, if it has such. */
  write(text: string, emphasized: string | null = null): void {
    this.#writePendingText()
    if (text === '') return
    const pieces = this.#open.at(-1)?.pieces ?? this.#line
    const before = pieces.at(-1)?.slice(-2) ?? ''
    const apart =
      emphasized !== null
        ? this.#endsEmphasized || (BEGINS_WITH_SIGN.test(emphasized) && ENDS_IN_WORD.test(before))
        : this.#endsWithSign && WORD.test(text)
    if (apart) pieces.push(' ')
    pieces.push(text)
    this.#endsEmphasized = emphasized !== null && !/\s$/.test(text)
    this.#endsWithSign = this.#endsEmphasized && ENDS_WITH_SIGN.test(emphasized!.slice(-2))
  }

  /** Begins an element, and gives what ends it. */
  openMark(mark: string, href?: string): () => void {
    this.#writePendingText()
    const inCode = this.#open.at(-1)?.mark === '`'
    if (inCode || this.#open.length >= MOST_MARKS || this.#open.some((one) => one.mark === mark)) return () => {}
    const at = this.#open.push({ mark, address: mark === '' ? sanitizeUrl(href) : null, pieces: [] }) - 1
    return () => {
      this.#writePendingText()
      while (this.#open.length > at) this.#close()
    }
  }

  addImage({ src, alt = '' }: Record<string, string>): void {
    const address = sanitizeUrl(src)
    const text = escapeInlineText(alt.replaceAll(/\s+/g, ' ').trim())
    this.write(address === null ? text : `![${text}](${address})`)
  }

  /** The line, a line break within it for each that was asked for. What follows has the same marks. */
  end(): string {
    this.#writePendingText()
    const open = this.#open.map(({ mark, address }) => ({ mark, address, pieces: [] }))
    while (this.#open.length > 0) this.#close()
    const text = this.#line
      .join('')
      .replaceAll(/ {2,}/g, ' ')
      .replaceAll(/ ?\n ?/g, '\n')
      .trim()
    this.#line = []
    this.#endsEmphasized = this.#endsWithSign = false
    this.#open = open
    return text
  }

  #close(): void {
    this.#writePendingText()
    const inline = this.#open.pop()!
    const isEmphasis = inline.mark !== '' && inline.mark !== '`'
    this.write(formatInline(inline), isEmphasis ? inline.pieces.join('').trim() : null)
  }

  #writePendingText(): void {
    const text = this.#pendingText
    this.#pendingText = ''
    if (text === '') return
    const isCode = this.#open.at(-1)?.mark === '`'
    this.write(isCode ? text : escapeInlineText(text.replaceAll(/[ \t\r\n\f]+/g, ' ')))
  }
}

function formatInline({ mark, address, pieces }: InlineElement): string {
  const text = pieces.join('')
  if (mark === '`') return formatInlineCode(text)
  if (mark !== '') return wrapInMarks(text, mark)
  return address === null ? text : wrapInMarks(text, '[', `](${address})`)
}
