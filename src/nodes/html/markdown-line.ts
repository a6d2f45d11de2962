// Writes one line of Markdown, with the inline marks that are open in it, such as bold and links.
import { escapeInlineText, formatInlineCode, sanitizeUrl, wrapInMarks } from './markdown-syntax.ts'

/** Nested marks. Deeper marks are dropped, and only their text is written. */
const MOST_MARKS = 10

/** The mark on both sides of an element's text; '' for a link. */
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

// A mark between a letter and punctuation has no effect (CommonMark, "left-flanking delimiter run"). There, and between two marks, a space
// is inserted.
const WORD = /^[^\s\p{P}\p{S}]/u
const ENDS_IN_WORD = /[^\s\p{P}\p{S}]$/u
const BEGINS_WITH_SIGN = /^[\p{P}\p{S}]/u
const ENDS_WITH_SIGN = /[\p{P}\p{S}]$/u

interface InlineElement {
  /** The mark on both sides, or '' for a link. */
  readonly mark: string
  readonly address: string | null
  /** The pieces are joined at the end, because the ends of long texts are read often. */
  readonly pieces: string[]
}

export class MarkdownLine {
  #open: InlineElement[] = []
  #line: string[] = []
  /** Text as it stands in the page. It arrives in pieces that only make sense together: `&lt;b>` is two pieces. */
  #pendingText = ''
  /** Whether the last written text is emphasized, and whether it ends with punctuation. */
  #endsEmphasized = false
  #endsWithSign = false

  /** Adds text of the page. */
  add(text: string): void {
    this.#pendingText += text
  }

  /** Writes Markdown. `emphasized` is the text between its emphasis marks, if there are any. */
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

  /** Opens an element, and returns the function that closes it. */
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

  /** Returns the line, with the line breaks that were written. The next line has the same open marks. */
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
