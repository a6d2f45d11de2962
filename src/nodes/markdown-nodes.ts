// text.ParseMarkdown and text.RenderMarkdown: CommonMark with tables, read by markdown-it. HTML in it is read as text, and URLs such as
// javascript: do not become links.
import type { Token } from 'markdown-it'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { createLazyGetter, markdownLibrary } from './shared/lazy-libraries.ts'
import { requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import { ensureTextLimit } from './shared/value-limits.ts'

/** In characters: some fifty pages. Hostile texts of that length are read in less than a second. */
const LONGEST_MARKDOWN = 150_000

/** Nested lists and quotes: the limit of CommonMark's own reader. */
const DEEPEST = 20

const markdownParser = createLazyGetter(() => {
  const MarkdownIt = markdownLibrary()
  return new MarkdownIt({ html: false, linkify: false, typographer: false, maxNesting: DEEPEST })
})

function guardMarkdown(text: string): string {
  if (text.length <= LONGEST_MARKDOWN) return text
  throw new NodeError('The Markdown has more than 150,000 characters. Read it in parts.', 'too_large')
}

interface MarkdownOutline {
  headings: { level: number; text: string }[]
  links: { url: string; text: string; title: string }[]
  images: { url: string; text: string; title: string }[]
  code: { language: string; text: string }[]
  text: string
}

/** The text of tokens inside a line. */
function joinPlainText(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content, children }) => {
      if (type === 'softbreak' || type === 'hardbreak') return '\n'
      return type === 'image' ? joinPlainText(children ?? []) : content
    })
    .join('')
}

function readAttribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '')
}

/** Adds the links and images of a line. */
function collectLinksAndImages(tokens: readonly Token[], { links, images }: MarkdownOutline): void {
  let opened = -1
  tokens.forEach((token, at) => {
    if (token.type === 'link_open') opened = at
    if (token.type === 'link_close' && opened >= 0) {
      const link = tokens[opened]!
      const text = joinPlainText(tokens.slice(opened + 1, at))
      links.push({ url: readAttribute(link, 'href'), text, title: readAttribute(link, 'title') })
    }
    if (token.type === 'image') {
      const text = joinPlainText(token.children ?? [])
      images.push({ url: readAttribute(token, 'src'), text, title: readAttribute(token, 'title') })
    }
  })
}

function parseOutline(text: string): MarkdownOutline {
  const found: MarkdownOutline = { headings: [], links: [], images: [], code: [], text: '' }
  const pieces: string[] = []
  let level = 0
  for (const token of markdownParser().parse(text, {})) {
    if (token.type === 'heading_open') level = Number(token.tag.slice(1))
    if (token.type === 'heading_close') level = 0
    if (token.type === 'fence' || token.type === 'code_block') {
      found.code.push({ language: token.info.trim().split(/\s+/)[0]!, text: token.content })
      pieces.push(token.content.trimEnd())
    }
    if (token.type !== 'inline') continue
    const line = joinPlainText(token.children ?? [])
    if (level > 0) found.headings.push({ level, text: line })
    collectLinksAndImages(token.children ?? [], found)
    pieces.push(line)
  }
  found.text = ensureTextLimit(pieces.filter((piece) => piece !== '').join('\n\n'))
  return found
}

const markdownProperty = () => requiredProperty('text', 'str', 'The Markdown.')

export const markdownNodes: NodeType[] = [
  {
    node_type: 'text.ParseMarkdown',
    title: 'Read Markdown',
    description:
      'Splits Markdown into its parts: headings as {level, text}, links and images as {url, text, title}, code blocks as {language, text}, and its text without marks. At most 150,000 characters.',
    properties: [markdownProperty()],
    cost: 2_000,
    outputs: [
      valueOutput('headings', 'list[dict[str,any]]'),
      valueOutput('links', 'list[dict[str,any]]'),
      valueOutput('images', 'list[dict[str,any]]'),
      valueOutput('code', 'list[dict[str,any]]'),
      valueOutput('text', 'str'),
    ],
    run: ({ text }: { text: string }) => ({ ...parseOutline(guardMarkdown(text)) }),
  },
  {
    node_type: 'text.RenderMarkdown',
    title: 'Markdown to HTML',
    description:
      'Writes Markdown as HTML that is safe to show: HTML in it becomes text, and only harmless URLs become links. At most 150,000 characters.',
    properties: [markdownProperty()],
    cost: 1_000,
    outputs: [valueOutput('output', 'str')],
    run: ({ text }: { text: string }) => ({ output: ensureTextLimit(markdownParser().render(guardMarkdown(text))) }),
  },
]
