// Reads an HTML document in one pass: its title, its text as a person reads it, its links, and the elements that a selector
// selects. The tags are told apart by htmlparser2; no tree is built.
import { NodeError } from '../engine/node-type.ts'
import { htmlLibrary } from './libraries.ts'
import { guardGathered } from './limits.ts'
import { isSelected, type Selector, type Standing, standingOf } from './selector.ts'
import { TextFlow } from './text-flow.ts'

/** In characters. */
const LONGEST_HTML = 1_500_000

/** Browsers stop at 512. */
const DEEPEST = 512

export interface Page {
  title: string
  text: string
  links: { url: string; text: string }[]
  matches: { tag: string; text: string; attributes: Record<string, string> }[]
}

export const UNREAD = new Set(['script', 'style', 'template', 'noscript', 'title'])
const CELLS = new Set(['td', 'th'])
const LINES = new Set(['br', 'li', 'tr', 'dt', 'dd', 'option', 'div', 'section', 'article', 'header', 'footer', 'nav'])
const PARAGRAPHS = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr main aside figure form fieldset address'.split(' '),
)

/** Where in the text something begins and ends. */
interface Span {
  from: number
  to: number
}

interface Open {
  spans: Span[]
  standing: Standing | undefined
}

type Spanned<Value> = Value & { span: Span }

class PageReader {
  readonly #selector: Selector
  readonly #flow = new TextFlow()
  readonly #open: Open[] = []
  readonly #links: Spanned<{ url: string }>[] = []
  readonly #matches: Spanned<{ tag: string; attributes: Record<string, string> }>[] = []
  #unread = 0
  #preformatted = 0
  #title: string | null = null
  #inTitle = false

  constructor(selector: Selector) {
    this.#selector = selector
  }

  onopentag(tag: string, attributes: Record<string, string>): void {
    this.#part(tag)
    const spans: Span[] = []
    const span = () => {
      const made = { from: this.#flow.length, to: this.#flow.length }
      spans.push(made)
      return made
    }
    if (tag === 'a' && Object.hasOwn(attributes, 'href')) this.#links.push({ url: attributes.href!, span: span() })
    const standing = this.#standing(tag, attributes)
    if (standing && isSelected(this.#selector, standing)) this.#matches.push({ tag, attributes, span: span() })
    this.#open.push({ spans, standing })
    if (UNREAD.has(tag)) this.#unread++
    if (tag === 'pre') this.#preformatted++
    if (tag === 'title' && this.#title === null) {
      this.#inTitle = true
      this.#title = ''
    }
  }

  onclosetag(tag: string): void {
    for (const span of this.#open.pop()?.spans ?? []) span.to = this.#flow.length
    if (UNREAD.has(tag)) this.#unread--
    if (tag === 'pre') this.#preformatted--
    if (tag === 'title') this.#inTitle = false
    this.#part(tag)
  }

  ontext(data: string): void {
    if (this.#inTitle) this.#title += data
    else if (this.#unread === 0) this.#flow.add(data, this.#preformatted > 0)
  }

  page(): Page {
    const text = this.#flow.text
    let gathered = 0
    const within = ({ from, to }: Span) => {
      gathered += to - from
      guardGathered(gathered)
      return text.slice(from, to).trim()
    }
    return {
      title: (this.#title ?? '').replaceAll(/\s+/g, ' ').trim(),
      text: text.trimEnd(),
      links: this.#links.map(({ url, span }) => ({ url: url.trim(), text: within(span) })),
      matches: this.#matches.map(({ tag, attributes, span }) => ({ tag, text: within(span), attributes })),
    }
  }

  #standing(tag: string, attributes: Record<string, string>): Standing | undefined {
    if (this.#selector.length === 0) return undefined
    const classes = (attributes.class ?? '').split(/\s+/)
    return standingOf(this.#selector, { tag, attributes, classes }, this.#open.at(-1)?.standing)
  }

  /** What a tag puts between the text before and after it. */
  #part(tag: string): void {
    if (PARAGRAPHS.has(tag)) this.#flow.part('paragraph')
    else if (LINES.has(tag)) this.#flow.part('line')
    else if (CELLS.has(tag)) this.#flow.part('space')
  }
}

/** Told of a page's elements, in pairs: what is never closed is closed by what it stands in. */
export interface PageListener {
  onopentag(tag: string, attributes: Record<string, string>): void
  onclosetag(tag: string): void
  ontext(data: string): void
}

/** Throws NodeError `too_large` or `too_deep`. Documents that are wrong are read as browsers would, more or less. */
export function parsedHtml(html: string, listener: PageListener): void {
  if (html.length > LONGEST_HTML) {
    throw new NodeError('The document has more than 1,500,000 characters. Read it in parts.', 'too_large')
  }
  let depth = 0
  const { Parser } = htmlLibrary()
  const parser = new Parser({
    onopentag(tag, attributes) {
      if (depth++ >= DEEPEST) {
        throw new NodeError(`The elements are nested more than ${DEEPEST} levels deep.`, 'too_deep')
      }
      listener.onopentag(tag, attributes)
    },
    onclosetag(tag) {
      depth--
      listener.onclosetag(tag)
    },
    ontext: (data) => listener.ontext(data),
  })
  parser.end(html)
}

/** Throws as `parsedHtml` does. */
export function readHtml(html: string, selector: Selector): Page {
  const reader = new PageReader(selector)
  parsedHtml(html, reader)
  return reader.page()
}
