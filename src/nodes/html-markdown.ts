// HTML written as Markdown: headings, paragraphs, lists, quotes, tables, code, links and pictures. What scripts and styles do is lost.
import { MARKS, MarkdownLine } from './html-markdown-line.ts'
import { type Block, codeBlock, joined, plainLines, prefixed, tableOf } from './html-markdown-parts.ts'
import { parsedHtml, UNREAD } from './html-read.ts'
import { guardText } from './limits.ts'

/** Lists and quotes in each other: of more of them, nothing but the text is written. */
const DEEPEST = 10
/** In columns. */
const WIDEST_CELL = 50

const BLOCKS = new Set(
  'p div section article header footer nav main aside figure figcaption form fieldset address dl dt dd details summary option caption'.split(
    ' ',
  ),
)

type Opener = 'rule' | 'code' | 'list' | 'numbers' | 'item' | 'quote' | 'table' | 'row' | 'cell'
const OPENERS: Readonly<Record<string, Opener>> = {
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

interface List {
  /** The number of the next item, or null where none has one. */
  next: number | null
  readonly items: string[]
}

/** Told of the elements of a page; what an element leaves to be done at its end is its closer. */
class MarkdownWriter {
  /** What is written into one block after the other: the page, and in it a quote, an item or a cell. */
  readonly #containers: Block[][] = [[]]
  readonly #closers: (() => void)[] = []
  readonly #lists: List[] = []
  readonly #line = new MarkdownLine()
  /** Of the table that is being written. */
  #rows: string[][] | null = null
  #celled = false
  #code: { text: string; language: string } | null = null
  #unread = 0

  onopentag(tag: string, attributes: Record<string, string>): void {
    this.#closers.push(this.#opened(tag, attributes))
  }

  onclosetag(): void {
    this.#closers.pop()?.()
  }

  ontext(data: string): void {
    if (this.#unread > 0) return
    if (this.#code) this.#code.text += data
    else this.#line.add(data)
  }

  get markdown(): string {
    this.#flush()
    return joined(this.#containers[0]!)
  }

  #opened(tag: string, attributes: Record<string, string>): () => void {
    if (UNREAD.has(tag)) {
      this.#unread++
      return () => this.#unread--
    }
    if (this.#code) {
      if (tag === 'code') this.#code.language ||= languageOf(attributes.class)
      return () => {}
    }
    if (tag === 'br') this.#line.write(this.#rows ? ' ' : '\n')
    else if (tag === 'img') this.#line.picture(attributes)
    else if (Object.hasOwn(MARKS, tag)) return this.#line.mark(MARKS[tag]!, attributes.href)
    else return this.#block(tag, attributes)
    return () => {}
  }

  /** An element that begins and ends lines. */
  #block(tag: string, attributes: Record<string, string>): () => void {
    const level = Number(/^h([1-6])$/.exec(tag)?.[1] ?? 0)
    const open = Object.hasOwn(OPENERS, tag) ? OPENERS[tag]! : null
    if (!open && level === 0 && !BLOCKS.has(tag)) return () => {}
    this.#flush()
    if (level > 0) return () => this.#flush((text) => heading(level, text.replaceAll('\n', ' ')))
    if (tag === 'p') return () => this.#flush(paragraph)
    const close = open === null ? null : this.#open(open, attributes)
    return () => {
      this.#flush()
      close?.()
    }
  }

  #open(kind: Opener, attributes: Record<string, string>): (() => void) | null {
    if (kind === 'rule') this.#add({ kind: 'other', text: '---' })
    if (kind === 'code') return this.#pre()
    if (kind === 'list') return this.#list(null)
    if (kind === 'numbers') return this.#list(numberOf(attributes.start, 1))
    if (kind === 'table') return this.#table()
    if (kind === 'row') this.#rows?.push([])
    if (kind === 'cell') return this.#cell(numberOf(attributes.colspan, 1))
    if (kind === 'quote') return this.#within((text) => this.#add({ kind: 'other', text: prefixed(text, '> ', '> ') }))
    return kind === 'item' ? this.#within((text) => this.#item(text)) : null
  }

  /** Ends the line that is being written. */
  #flush(shape: (text: string) => string | Block = line): void {
    const text = this.#line.end()
    if (text === '') return
    const shaped = shape(text)
    this.#add(typeof shaped === 'string' ? { kind: 'other', text: shaped } : shaped)
  }

  #add(block: Block): void {
    guardText(block.text.length)
    if (block.text !== '') this.#containers.at(-1)!.push(block)
  }

  /** Until its end, blocks are gathered for `done`. */
  #within(done: (text: string) => void): (() => void) | null {
    if (this.#containers.length > DEEPEST) return null
    const blocks: Block[] = []
    this.#containers.push(blocks)
    return () => {
      this.#containers.pop()
      const text = joined(blocks)
      if (text !== '') done(text)
    }
  }

  #pre(): () => void {
    const code = { text: '', language: '' }
    this.#code = code
    return () => {
      this.#code = null
      this.#add({ kind: 'other', text: codeBlock(code.text, code.language) })
    }
  }

  #list(next: number | null): () => void {
    const list: List = { next, items: [] }
    this.#lists.push(list)
    return () => {
      this.#lists.pop()
      // One that begins with another number is no list where it follows a line closely.
      const kind = next === null || next === 1 ? 'list' : 'other'
      this.#add({ kind, text: list.items.join('\n') })
    }
  }

  #item(text: string): void {
    const list = this.#lists.at(-1)
    const mark = list?.next == null ? '- ' : `${list.next++}. `
    const item = prefixed(text, mark, ' '.repeat(mark.length))
    if (list) list.items.push(item)
    else this.#add({ kind: 'list', text: item })
  }

  /** A table in a cell is read as its text. */
  #table(): (() => void) | null {
    if (this.#rows) return null
    const rows: string[][] = []
    this.#rows = rows
    return () => {
      this.#rows = null
      this.#add({ kind: 'other', text: tableOf(rows.filter((row) => row.length > 0)) })
    }
  }

  #cell(columns: number): (() => void) | null {
    const rows = this.#rows
    if (!rows || this.#celled) return null
    this.#celled = true
    const blocks: Block[] = []
    this.#containers.push(blocks)
    return () => {
      this.#celled = false
      this.#containers.pop()
      if (rows.length === 0) rows.push([])
      const more = Array<string>(Math.max(1, Math.min(columns, WIDEST_CELL)) - 1).fill('')
      rows.at(-1)!.push(joined(blocks).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|'), ...more)
    }
  }
}

/** Signs at the end would be taken for the end of the heading's marks. */
function heading(level: number, text: string): string {
  return `${'#'.repeat(level)} ${text.endsWith('#') ? `${text.slice(0, -1)}\\#` : text}`
}

function line(text: string): Block {
  return { kind: 'line', text: plainLines(text).replaceAll('\n', '\\\n') }
}

function paragraph(text: string): Block {
  return { ...line(text), kind: 'other' }
}

function languageOf(classes = ''): string {
  return /(?:^|\s)lang(?:uage)?-([\w+#-]{1,40})/.exec(classes)?.[1] ?? ''
}

function numberOf(digits: string | undefined, otherwise: number): number {
  return digits !== undefined && /^\d{1,6}$/.test(digits.trim()) ? Number(digits) : otherwise
}

/** @throws NodeError `too_large`, `too_deep` */
export function markdownOf(html: string): string {
  const writer = new MarkdownWriter()
  parsedHtml(html, writer)
  const { markdown } = writer
  guardText(markdown.length)
  return markdown
}
