// Renders the guide's Markdown as HTML, with anchors at headings as code hosts have them.
import { createRequire } from 'node:module'
import type { Token } from 'markdown-it'
import { Html } from './html.ts'

type MarkdownIt = typeof import('markdown-it', { with: { 'resolution-mode': 'require' }})

const require = createRequire(import.meta.url)

/** Comments tell readers of the source which test checks a block. */
const COMMENT = /<!--[\s\S]*?-->\n?/g

/** A rendered page. */
export interface RenderedMarkdown {
  readonly title: string
  readonly headings: readonly { readonly id: string; readonly title: string }[]
  readonly content: Html
}

/**
 * Renders a page. `resolveLink` gets the target of each link, and gives the URL that the page links to, or null if the target is not
 * served: its text is shown without a link then.
 */
export function renderMarkdown(source: string, resolveLink: (target: string) => string | null): RenderedMarkdown {
  const library = (require('markdown-it') as MarkdownIt)({ html: false, linkify: false })
  library.renderer.rules.table_open = () => '<div class="scroll"><table>'
  library.renderer.rules.table_close = () => '</table></div>'
  const tokens = library.parse(source.replace(COMMENT, ''), {})
  const headings = labelHeadings(tokens)
  for (const { children } of tokens) if (children) resolveLinks(children, resolveLink)
  return {
    title: headings.find(({ level }) => level === 1)?.title ?? '',
    headings: headings.filter(({ level }) => level === 2),
    content: new Html(library.renderer.render(tokens, library.options, {})),
  }
}

/** The anchor of a heading: its words in lower case, joined by hyphens. */
export function headingAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}

function labelHeadings(tokens: readonly Token[]) {
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open') return []
    const title = textOf(tokens[index + 1]!)
    token.attrSet('id', headingAnchor(title))
    return [{ level: Number(token.tag.slice(1)), title, id: headingAnchor(title) }]
  })
}

function textOf({ children }: Token): string {
  return (children ?? []).map(({ content }) => content).join('')
}

function resolveLinks(tokens: readonly Token[], resolveLink: (target: string) => string | null): void {
  let isDropped = false
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const url = resolveLink(String(token.attrGet('href')))
      isDropped = url === null
      if (url !== null) token.attrSet('href', url)
    }
    if (isDropped && (token.type === 'link_open' || token.type === 'link_close')) token.hidden = true
    if (token.type === 'link_close') isDropped = false
  }
}
