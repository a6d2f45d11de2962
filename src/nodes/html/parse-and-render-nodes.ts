// text.ParseHtml, text.HtmlToMarkdown and text.RenderHtml: read and write HTML. page-reader.ts reads documents.
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { memoizeByText } from '../shared/memoize.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { fillTemplate, findUnknownName } from '../shared/template.ts'
import { parseCssSelector } from './css-selector.ts'
import { htmlToMarkdown } from './markdown-writer.ts'
import { readHtml } from './page-reader.ts'

const parseCachedSelector = memoizeByText(parseCssSelector)

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for use between tags and inside quoted attributes. */
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
      requiredProperty('html', 'str', 'The document, or a part of one.'),
      optionalProperty(
        'selector',
        'str',
        'Tags, *, #id, .class, [name=value], joined by spaces, > and commas, as in CSS.',
        {
          default: '',
        },
      ),
    ],
    cost: 400,
    expressions: { selector: parseCachedSelector },
    outputs: [
      valueOutput('title', 'str'),
      valueOutput('text', 'str'),
      valueOutput('links', 'list[dict[str,any]]'),
      valueOutput('matches', 'list[dict[str,any]]'),
    ],
    run: ({ html, selector }: { html: string; selector: string }) => ({
      ...readHtml(html, parseCachedSelector(selector)),
    }),
  },
  {
    node_type: 'text.HtmlToMarkdown',
    title: 'HTML to Markdown',
    description:
      'Writes HTML as Markdown, for models and for people: headings, lists, quotes, tables, code, links and pictures are kept; scripts, styles, and URLs such as javascript: are removed. At most 1.5 million characters.',
    properties: [
      requiredProperty('html', 'str', 'The document, or a part of one, such as the HTML of document.DocxText.'),
    ],
    cost: 600,
    outputs: [valueOutput('output', 'str')],
    run: ({ html }: { html: string }) => ({ output: htmlToMarkdown(html) }),
  },
  {
    node_type: 'text.RenderHtml',
    title: 'HTML template',
    description:
      'Replaces `{{name}}` in HTML with the dynamic input of that name, as text and never as tags. This is safe between tags and in quoted attributes, but not inside scripts or as a whole URL.',
    properties: [requiredProperty('template', 'str', 'The HTML with its placeholders.')],
    outputs: [valueOutput('output', 'str')],
    supports_dynamic_inputs: true,
    unknownName: findUnknownName,
    run: ({ template, ...inputs }: InputValues & { template: string }) => ({
      output: fillTemplate(template, inputs, escapeHtml),
    }),
  },
]
