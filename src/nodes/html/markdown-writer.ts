// Converts HTML to Markdown: headings, paragraphs, lists, quotes, tables, code, links and pictures. Scripts and styles are dropped.

import { guardTextLength } from '../shared/value-limits.ts'
import { INLINE_MARKS, MarkdownLine } from './markdown-line.ts'
import {
  escapeLineStarts,
  formatCodeBlock,
  formatTable,
  joinBlocks,
  type MarkdownBlock,
  prefixLines,
} from './markdown-syntax.ts'
import { parseHtml, SKIPPED_TAGS } from './page-reader.ts'

/** Nested lists and quotes. Deeper ones are dropped, and only their text is written. */
const DEEPEST = 10
/** In columns. */
const WIDEST_CELL = 50

const PLAIN_BLOCK_TAGS = new Set(
  'p div section article header footer nav main aside figure figcaption form fieldset address dl dt dd details summary option caption'.split(
    ' ',
  ),
)

type BlockElement = 'rule' | 'code' | 'list' | 'numbers' | 'item' | 'quote' | 'table' | 'row' | 'cell'
const BLOCK_ELEMENTS: Readonly<Record<string, BlockElement>> = {
  hr: 'rule',
  pre: 'code',
  ul: 'list',
  menu: 'list',
  ol: 'numbers',
  li: 'item',
  blockquote: 'quote',
  table: 'table',
  tr: 'row',
  td: 'cell',
  th: 'cell',
}

interface OpenList {
  /** The number of the next item, or null for a bulleted list. */
  next: number | null
  readonly items: string[]
}

/** Listens to the elements of a page. The closer of an element runs at its end. */
class MarkdownWriter {
  /** The nested containers of blocks: the page, and in it a quote, an item or a cell. */
  readonly #containers: MarkdownBlock[][] = [[]]
  readonly #closers: (() => void)[] = []
  readonly #lists: OpenList[] = []
  readonly #line = new MarkdownLine()
  /** The rows of the open table. */
  #rows: string[][] | null = null
  #isInCell = false
  #code: { text: string; language: string } | null = null
  #skippedDepth = 0

  onopentag(tag: string, attributes: Record<string, string>): void {
    this.#closers.push(this.#openElement(tag, attributes))
  }

  onclosetag(): void {
    this.#closers.pop()?.()
  }

  ontext(data: string): void {
    if (this.#skippedDepth > 0) return
    if (this.#code) this.#code.text += data
    else this.#line.add(data)
  }

  get markdown(): string {
    this.#flush()
    return joinBlocks(this.#containers[0]!)
  }

  #openElement(tag: string, attributes: Record<string, string>): () => void {
    if (SKIPPED_TAGS.has(tag)) {
      this.#skippedDepth++
      return () => this.#skippedDepth--
    }
    if (this.#code) {
      if (tag === 'code') this.#code.language ||= readLanguage(attributes.class)
      return () => {}
    }
    if (tag === 'br') this.#line.write(this.#rows ? ' ' : '\n')
    else if (tag === 'img') this.#line.addImage(attributes)
    else if (Object.hasOwn(INLINE_MARKS, tag)) return this.#line.openMark(INLINE_MARKS[tag]!, attributes.href)
    else return this.#openBlockElement(tag, attributes)
    return () => {}
  }

  /** Opens an element that begins and ends lines. */
  #openBlockElement(tag: string, attributes: Record<string, string>): () => void {
    const level = Number(/^h([1-6])$/.exec(tag)?.[1] ?? 0)
    const open = Object.hasOwn(BLOCK_ELEMENTS, tag) ? BLOCK_ELEMENTS[tag]! : null
    if (!open && level === 0 && !PLAIN_BLOCK_TAGS.has(tag)) return () => {}
    this.#flush()
    if (level > 0) return () => this.#flush((text) => formatHeading(level, text.replaceAll('\n', ' ')))
    if (tag === 'p') return () => this.#flush(formatParagraph)
    const close = open === null ? null : this.#openBlock(open, attributes)
    return () => {
      this.#flush()
      close?.()
    }
  }

  #openBlock(kind: BlockElement, attributes: Record<string, string>): (() => void) | null {
    if (kind === 'rule') this.#add({ kind: 'other', text: '---' })
    if (kind === 'code') return this.#openCode()
    if (kind === 'list') return this.#openList(null)
    if (kind === 'numbers') return this.#openList(parseNumber(attributes.start, 1))
    if (kind === 'table') return this.#openTable()
    if (kind === 'row') this.#rows?.push([])
    if (kind === 'cell') return this.#openCell(parseNumber(attributes.colspan, 1))
    if (kind === 'quote')
      return this.#openContainer((text) => this.#add({ kind: 'other', text: prefixLines(text, '> ', '> ') }))
    return kind === 'item' ? this.#openContainer((text) => this.#addItem(text)) : null
  }

  /** Ends the current line. */
  #flush(shape: (text: string) => string | MarkdownBlock = formatLine): void {
    const text = this.#line.end()
    if (text === '') return
    const shaped = shape(text)
    this.#add(typeof shaped === 'string' ? { kind: 'other', text: shaped } : shaped)
  }

  #add(block: MarkdownBlock): void {
    guardTextLength(block.text.length)
    if (block.text !== '') this.#containers.at(-1)!.push(block)
  }

  /** Gathers blocks until the element ends, then passes their text to `done`. */
  #openContainer(done: (text: string) => void): (() => void) | null {
    if (this.#containers.length > DEEPEST) return null
    const blocks: MarkdownBlock[] = []
    this.#containers.push(blocks)
    return () => {
      this.#containers.pop()
      const text = joinBlocks(blocks)
      if (text !== '') done(text)
    }
  }

  #openCode(): () => void {
    const code = { text: '', language: '' }
    this.#code = code
    return () => {
      this.#code = null
      this.#add({ kind: 'other', text: formatCodeBlock(code.text, code.language) })
    }
  }

  #openList(next: number | null): () => void {
    const list: OpenList = { next, items: [] }
    this.#lists.push(list)
    return () => {
      this.#lists.pop()
      // A numbered list that does not begin with 1 cannot follow a line without an empty line (CommonMark).
      const kind = next === null || next === 1 ? 'list' : 'other'
      this.#add({ kind, text: list.items.join('\n') })
    }
  }

  #addItem(text: string): void {
    const list = this.#lists.at(-1)
    const mark = list?.next == null ? '- ' : `${list.next++}. `
    const item = prefixLines(text, mark, ' '.repeat(mark.length))
    if (list) list.items.push(item)
    else this.#add({ kind: 'list', text: item })
  }

  /** A table inside a cell is read as text. */
  #openTable(): (() => void) | null {
    if (this.#rows) return null
    const rows: string[][] = []
    this.#rows = rows
    return () => {
      this.#rows = null
      this.#add({ kind: 'other', text: formatTable(rows.filter((row) => row.length > 0)) })
    }
  }

  #openCell(columns: number): (() => void) | null {
    const rows = this.#rows
    if (!rows || this.#isInCell) return null
    this.#isInCell = true
    const blocks: MarkdownBlock[] = []
    this.#containers.push(blocks)
    return () => {
      this.#isInCell = false
      this.#containers.pop()
      if (rows.length === 0) rows.push([])
      const more = Array<string>(Math.max(1, Math.min(columns, WIDEST_CELL)) - 1).fill('')
      rows.at(-1)!.push(joinBlocks(blocks).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|'), ...more)
    }
  }
}

/** A `#` at the end would be read as the closing marks of the heading. */
function formatHeading(level: number, text: string): string {
  return `${'#'.repeat(level)} ${text.endsWith('#') ? `${text.slice(0, -1)}\\#` : text}`
}

function formatLine(text: string): MarkdownBlock {
  return { kind: 'line', text: escapeLineStarts(text).replaceAll('\n', '\\\n') }
}

function formatParagraph(text: string): MarkdownBlock {
  return { ...formatLine(text), kind: 'other' }
}

function readLanguage(classes = ''): string {
  return /(?:^|\s)lang(?:uage)?-([\w+#-]{1,40})/.exec(classes)?.[1] ?? ''
}

function parseNumber(digits: string | undefined, otherwise: number): number {
  return digits !== undefined && /^\d{1,6}$/.test(digits.trim()) ? Number(digits) : otherwise
}

/** @throws NodeError `too_large`, `too_deep` */
export function htmlToMarkdown(html: string): string {
  const writer = new MarkdownWriter()
  parseHtml(html, writer)
  const { markdown } = writer
  guardTextLength(markdown.length)
  return markdown
}
