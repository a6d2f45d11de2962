// text.ParseMarkdown and text.RenderMarkdown: CommonMark with tables, read by markdown-it. HTML inside of it is text, and
// addresses such as javascript: are no links.
import type { Token } from 'markdown-it'
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { output, required } from './define.ts'
import { lazily, markdownLibrary } from './libraries.ts'
import { textWithin } from './limits.ts'

/** In characters: some fifty pages. Hostile texts of that length are read in less than a second. */
const LONGEST_MARKDOWN = 150_000

/** Lists and quotes in each other, as CommonMark's own reader has it. */
const DEEPEST = 20

const reader = lazily(() => {
  const MarkdownIt = markdownLibrary()
  return new MarkdownIt({ html: false, linkify: false, typographer: false, maxNesting: DEEPEST })
})

function guardMarkdown(text: string): string {
  if (text.length <= LONGEST_MARKDOWN) return text
  throw new NodeError('The Markdown has more than 150,000 characters. Read it in parts.', 'too_large')
}

interface Outline {
  headings: { level: number; text: string }[]
  links: { url: string; text: string; title: string }[]
  images: { url: string; text: string; title: string }[]
  code: { language: string; text: string }[]
  text: string
}

/** The text of tokens inside a line. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content, children }) => {
      if (type === 'softbreak' || type === 'hardbreak') return '\n'
      return type === 'image' ? plain(children ?? []) : content
    })
    .join('')
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '')
}

/** Adds the links and images of a line. */
function gather(tokens: readonly Token[], { links, images }: Outline): void {
  let opened = -1
  tokens.forEach((token, at) => {
    if (token.type === 'link_open') opened = at
    if (token.type === 'link_close' && opened >= 0) {
      const link = tokens[opened]!
      const text = plain(tokens.slice(opened + 1, at))
      links.push({ url: attribute(link, 'href'), text, title: attribute(link, 'title') })
    }
    if (token.type === 'image') {
      const text = plain(token.children ?? [])
      images.push({ url: attribute(token, 'src'), text, title: attribute(token, 'title') })
    }
  })
}

function outline(text: string): Outline {
  const found: Outline = { headings: [], links: [], images: [], code: [], text: '' }
  const pieces: string[] = []
  let level = 0
  for (const token of reader().parse(text, {})) {
    if (token.type === 'heading_open') level = Number(token.tag.slice(1))
    if (token.type === 'heading_close') level = 0
    if (token.type === 'fence' || token.type === 'code_block') {
      found.code.push({ language: token.info.trim().split(/\s+/)[0]!, text: token.content })
      pieces.push(token.content.trimEnd())
    }
    if (token.type !== 'inline') continue
    const line = plain(token.children ?? [])
    if (level > 0) found.headings.push({ level, text: line })
    gather(token.children ?? [], found)
    pieces.push(line)
  }
  found.text = textWithin(pieces.filter((piece) => piece !== '').join('\n\n'))
  return found
}

const markdown = () => required('text', 'str', 'The Markdown.')

export const markdownNodes: NodeType[] = [
  {
    node_type: 'text.ParseMarkdown',
    title: 'Read Markdown',
    description:
      'Takes Markdown apart: headings as {level, text}, links and images as {url, text, title}, code blocks as {language, text}, and all of its text without marks. At most 150,000 characters.',
    properties: [markdown()],
    cost: 2_000,
    outputs: [
      output('headings', 'list[dict[str,any]]'),
      output('links', 'list[dict[str,any]]'),
      output('images', 'list[dict[str,any]]'),
      output('code', 'list[dict[str,any]]'),
      output('text', 'str'),
    ],
    run: ({ text }: { text: string }) => ({ ...outline(guardMarkdown(text)) }),
  },
  {
    node_type: 'text.RenderMarkdown',
    title: 'Markdown to HTML',
    description:
      'Writes Markdown as HTML that is safe to show: HTML in it becomes text, and only harmless addresses become links. At most 150,000 characters.',
    properties: [markdown()],
    cost: 1_000,
    outputs: [output('output', 'str')],
    run: ({ text }: { text: string }) => ({ output: textWithin(reader().render(guardMarkdown(text))) }),
  },
]
