// Reads an HTML document in one pass: its title, its visible text, its links, and the selected elements. htmlparser2 finds the tags; no
// tree is built.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { htmlLibrary } from '../shared/lazy-libraries.ts'
import { guardTotalText } from '../shared/value-limits.ts'
import { type CssSelector, isSelected, matchSelector, type SelectorMatch } from './css-selector.ts'
import { PlainTextBuilder } from './plain-text-builder.ts'

/** In characters. */
const LONGEST_HTML = 1_500_000

/** In levels. Browsers also stop at 512. */
const DEEPEST = 512

export interface HtmlPage {
  title: string
  text: string
  links: { url: string; text: string }[]
  matches: { tag: string; text: string; attributes: Record<string, string> }[]
}

export const SKIPPED_TAGS = new Set(['script', 'style', 'template', 'noscript', 'title'])
const CELL_TAGS = new Set(['td', 'th'])
const LINE_TAGS = new Set([
  'br',
  'li',
  'tr',
  'dt',
  'dd',
  'option',
  'div',
  'section',
  'article',
  'header',
  'footer',
  'nav',
])
const PARAGRAPH_TAGS = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr main aside figure form fieldset address'.split(' '),
)

/** A range of the text. */
interface TextSpan {
  from: number
  to: number
}

interface OpenElement {
  spans: TextSpan[]
  standing: SelectorMatch | undefined
}

type WithSpan<Value> = Value & { span: TextSpan }

class PageReader {
  readonly #selector: CssSelector
  readonly #flow = new PlainTextBuilder()
  readonly #open: OpenElement[] = []
  readonly #links: WithSpan<{ url: string }>[] = []
  readonly #matches: WithSpan<{ tag: string; attributes: Record<string, string> }>[] = []
  #skippedDepth = 0
  #preformattedDepth = 0
  #title: string | null = null
  #inTitle = false

  constructor(selector: CssSelector) {
    this.#selector = selector
  }

  onopentag(tag: string, attributes: Record<string, string>): void {
    this.#separate(tag)
    const spans: TextSpan[] = []
    const span = () => {
      const made = { from: this.#flow.length, to: this.#flow.length }
      spans.push(made)
      return made
    }
    if (tag === 'a' && Object.hasOwn(attributes, 'href')) this.#links.push({ url: attributes.href!, span: span() })
    const standing = this.#standing(tag, attributes)
    if (standing && isSelected(this.#selector, standing)) this.#matches.push({ tag, attributes, span: span() })
    this.#open.push({ spans, standing })
    if (SKIPPED_TAGS.has(tag)) this.#skippedDepth++
    if (tag === 'pre') this.#preformattedDepth++
    if (tag === 'title' && this.#title === null) {
      this.#inTitle = true
      this.#title = ''
    }
  }

  onclosetag(tag: string): void {
    for (const span of this.#open.pop()?.spans ?? []) span.to = this.#flow.length
    if (SKIPPED_TAGS.has(tag)) this.#skippedDepth--
    if (tag === 'pre') this.#preformattedDepth--
    if (tag === 'title') this.#inTitle = false
    this.#separate(tag)
  }

  ontext(data: string): void {
    if (this.#inTitle) this.#title += data
    else if (this.#skippedDepth === 0) this.#flow.add(data, this.#preformattedDepth > 0)
  }

  page(): HtmlPage {
    const text = this.#flow.text
    let gathered = 0
    const within = ({ from, to }: TextSpan) => {
      gathered += to - from
      guardTotalText(gathered)
      return text.slice(from, to).trim()
    }
    return {
      title: (this.#title ?? '').replaceAll(/\s+/g, ' ').trim(),
      text: text.trimEnd(),
      links: this.#links.map(({ url, span }) => ({ url: url.trim(), text: within(span) })),
      matches: this.#matches.map(({ tag, attributes, span }) => ({ tag, text: within(span), attributes })),
    }
  }

  #standing(tag: string, attributes: Record<string, string>): SelectorMatch | undefined {
    if (this.#selector.length === 0) return undefined
    const classes = (attributes.class ?? '').split(/\s+/)
    return matchSelector(this.#selector, { tag, attributes, classes }, this.#open.at(-1)?.standing)
  }

  /** Adds the gap that a tag puts between the texts before and after it. */
  #separate(tag: string): void {
    if (PARAGRAPH_TAGS.has(tag)) this.#flow.addGap('paragraph')
    else if (LINE_TAGS.has(tag)) this.#flow.addGap('line')
    else if (CELL_TAGS.has(tag)) this.#flow.addGap('space')
  }
}

/** Receives the elements of a page in pairs: an element that is never closed ends with its parent. */
export interface HtmlListener {
  onopentag(tag: string, attributes: Record<string, string>): void
  onclosetag(tag: string): void
  ontext(data: string): void
}

/** Throws NodeError `too_large` or `too_deep`. Invalid documents are read roughly as browsers read them. */
export function parseHtml(html: string, listener: HtmlListener): void {
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

/** Throws as `parseHtml` does. */
export function readHtml(html: string, selector: CssSelector): HtmlPage {
  const reader = new PageReader(selector)
  parseHtml(html, reader)
  return reader.page()
}
