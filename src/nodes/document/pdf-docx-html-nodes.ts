// document.*: text and pages of documents. Documents that may be hostile are read in a worker, by the tasks of the same names in src/media.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { htmlToMarkdown } from '../html/markdown-writer.ts'
import { readHtml } from '../html/page-reader.ts'
import { type MadeImage, toImageValue } from '../image/transform-nodes.ts'
import {
  createFileNeedsReader,
  type InputFile,
  prepareFileInput,
  readFileInput,
  runMediaTask,
} from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { ensureTextLimit } from '../shared/value-limits.ts'
import { decodeDocument } from './charset-detection.ts'

const documentProperty = (what: string) =>
  requiredProperty('document', 'any', `${what}: bytes, a document value, or the URL of an asset or a temporary file.`)
const PDF_PROPERTY = documentProperty('A PDF')

const PAGE_RANGE_PROPERTIES = [
  optionalProperty('from_page', 'int', 'The first page, counted from 1.', { default: 1, min: 1, max: 10_000 }),
  optionalProperty(
    'to_page',
    'int?',
    'The last page. Null, or a number beyond the end: the last page of the document.',
    {
      min: 1,
      max: 10_000,
    },
  ),
]

const pdfNodes: NodeType[] = [
  {
    node_type: 'document.PdfInfo',
    title: 'PDF pages and sizes',
    description:
      'Counts the pages of a PDF. Gives the size of each page in points (72 to the inch), as {page, width, height}.',
    properties: [PDF_PROPERTY],
    outputs: [valueOutput('page_count', 'int'), valueOutput('pages', 'list[dict[str,any]]')],
    needs: createFileNeedsReader('document'),
    async run({ document }, context) {
      const { value } = await runMediaTask(
        'document.pdfInfo',
        [await readFileInput(document, 'The PDF', context)],
        {},
        context,
      )
      return { ...(value as { page_count: number; pages: unknown[] }) }
    },
  },
  {
    node_type: 'document.PdfText',
    title: 'PDF text',
    description: 'Reads the text of a PDF, page by page and as one text. Pages that are only pictures have no text.',
    properties: [PDF_PROPERTY, ...PAGE_RANGE_PROPERTIES],
    outputs: [valueOutput('text', 'str'), valueOutput('pages', 'list[str]'), valueOutput('page_count', 'int')],
    needs: createFileNeedsReader('document'),
    async run({ document, ...range }, context) {
      const file = await readFileInput(document, 'The PDF', context)
      const { value } = await runMediaTask('document.pdfText', [file], range, context)
      const { pages, page_count } = value as { pages: string[]; page_count: number }
      return { text: ensureTextLimit(pages.filter((page) => page !== '').join('\n\n')), pages, page_count }
    },
  },
  {
    node_type: 'document.PdfPages',
    title: 'PDF pages as pictures',
    description: 'Draws pages of a PDF: at most 100 at a time, each with at most 32 million pixels.',
    properties: [
      PDF_PROPERTY,
      ...PAGE_RANGE_PROPERTIES,
      optionalProperty('dpi', 'int', 'Pixels to the inch.', { default: 150, min: 10, max: 1_200 }),
      optionalProperty('format', createEnumType('png', 'jpeg', 'webp'), 'The format of the pictures.', {
        default: 'png',
      }),
      optionalProperty('quality', 'int?', 'From 1 to 100, for JPEG and WebP. Null: the default of the format.', {
        min: 1,
        max: 100,
      }),
    ],
    outputs: [valueOutput('images', 'list[image]'), valueOutput('page_count', 'int')],
    needs: createFileNeedsReader('document'),
    async run({ document, ...params }, context) {
      const file = await readFileInput(document, 'The PDF', context)
      const { files, value } = await runMediaTask('document.pdfPages', [file], params, context)
      const { pages, page_count } = value as { pages: MadeImage[]; page_count: number }
      const first = params.from_page as number
      const stem = file.name?.replace(/\.pdf$/i, '')
      const images = pages.map((page, at) => toImageValue(files[at]!, page, stem ? `${stem}-${first + at}.pdf` : null))
      return { images, page_count }
    },
  },
]

export const pdfDocxHtmlNodes: NodeType[] = [
  ...pdfNodes,
  {
    node_type: 'document.DocxText',
    title: 'Word text',
    description:
      'Reads a Word document (.docx) as text and as HTML. In the text, each row of a table is a line with tabs between cells. The HTML has headings, lists, tables, notes, and links to http, https, mailto and tel. Pictures are skipped.',
    properties: [documentProperty('A Word document')],
    outputs: [valueOutput('text', 'str'), valueOutput('html', 'str')],
    needs: createFileNeedsReader('document'),
    async run({ document }, context) {
      const file = await readFileInput(document, 'The Word document', context)
      const { value } = await runMediaTask('document.docxText', [file], {}, context)
      return { ...(value as { text: string; html: string }) }
    },
  },
  {
    node_type: 'document.HtmlText',
    title: 'HTML text',
    description:
      'Reads an HTML file: its title, its text without tags, its content as Markdown, and its links as {url, text}. The charset is that of its content type, its byte order mark or its own declaration, else UTF-8. At most 1.5 million characters.',
    properties: [
      documentProperty('An HTML file'),
      optionalProperty(
        'charset',
        'str?',
        'The charset, such as windows-1252. Null: the charset that the file declares.',
      ),
    ],
    outputs: [
      valueOutput('title', 'str'),
      valueOutput('text', 'str'),
      valueOutput('markdown', 'str'),
      valueOutput('links', 'list[dict[str,any]]'),
    ],
    needs: createFileNeedsReader('document'),
    cost: 1_000,
    prepare: prepareFileInput('document', 'The HTML file'),
    run({ document, charset }) {
      const html = decodeDocument(document as InputFile, charset as string | null)
      if (html.includes('\0'))
        throw new NodeError('The file is not HTML, because it is not a text file.', 'unsupported')
      const { title, text, links } = readHtml(html, [])
      return { title, text, markdown: htmlToMarkdown(html), links }
    },
  },
]
