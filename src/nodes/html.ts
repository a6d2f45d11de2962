// text.ParseHtml, text.HtmlToMarkdown and text.RenderHtml: HTML read and written. How a document is read is in html-read.ts.
import type { Inputs, NodeType } from '../engine/node-type.ts'
import { option, output, required } from './define.ts'
import { markdownOf } from './html-markdown.ts'
import { readHtml } from './html-read.ts'
import { memo } from './memo.ts'
import { parseSelector } from './selector.ts'
import { fill, unknownName } from './template.ts'

const selectorOf = memo(parseSelector)

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that means nothing but itself in HTML: between tags, and inside of quoted attributes. */
function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

export const htmlNodes: NodeType[] = [
  {
    node_type: 'text.ParseHtml',
    title: 'Read HTML',
    description:
      'Reads an HTML document: its title, its text without tags, its links as {url, text}, and the elements that a selector selects as {tag, text, attributes}. At most 1.5 million characters.',
    properties: [
      required('html', 'str', 'The document, or a part of one.'),
      option('selector', 'str', 'Tags, *, #id, .class, [name=value], joined by spaces, > and commas, as in CSS.', {
        default: '',
      }),
    ],
    cost: 400,
    expressions: { selector: selectorOf },
    outputs: [
      output('title', 'str'),
      output('text', 'str'),
      output('links', 'list[dict[str,any]]'),
      output('matches', 'list[dict[str,any]]'),
    ],
    run: ({ html, selector }: { html: string; selector: string }) => ({ ...readHtml(html, selectorOf(selector)) }),
  },
  {
    node_type: 'text.HtmlToMarkdown',
    title: 'HTML to Markdown',
    description:
      'Writes HTML as Markdown, for models and for people: headings, lists, quotes, tables, code, links and pictures stay; scripts, styles, and addresses such as javascript: go. At most 1.5 million characters.',
    properties: [required('html', 'str', 'The document, or a part of one, such as the HTML of document.DocxText.')],
    cost: 600,
    outputs: [output('output', 'str')],
    run: ({ html }: { html: string }) => ({ output: markdownOf(html) }),
  },
  {
    node_type: 'text.RenderHtml',
    title: 'HTML template',
    description:
      'Fills `{{name}}` in HTML with the dynamic input of that name, as text and never as tags. It is safe between tags and in quoted attributes, not inside of scripts, nor as a whole address.',
    properties: [required('template', 'str', 'The HTML with its placeholders.')],
    outputs: [output('output', 'str')],
    supports_dynamic_inputs: true,
    unknownName,
    run: ({ template, ...inputs }: Inputs & { template: string }) => ({ output: fill(template, inputs, escapeHtml) }),
  },
]
