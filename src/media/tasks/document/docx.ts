// The task for Word documents: extracts text and HTML with mammoth.
import mammoth from 'mammoth'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandler, MediaTaskResult } from '../../task-runner.ts'
import { guardDocumentText, mapDocumentErrors } from './limits-and-errors.ts'
import { openPackage, packParts } from './office-package.ts'

const WHAT = 'The Word document'

/** The library's document model, before it writes HTML. */
interface DocxElement {
  readonly type: string
  readonly children?: readonly DocxElement[]
  readonly value?: string
  readonly href?: string
}

export const readDocxText: MediaTaskHandler = async ([bytes]): Promise<MediaTaskResult> => {
  const given = await openPackage(bytes!, WHAT)
  if (![...given.names].some((name) => /^word\/.*\.xml$/.test(name)))
    throw new MediaFault('unsupported', `${WHAT} is of another kind.`)
  const parts = new Map<string, string>()
  // Other parts, such as images, are not unpacked.
  for (const name of given.names) if (/\.(?:xml|rels)$/i.test(name)) parts.set(name, await given.readXml(name))
  const buffer = await packParts(parts)
  return { value: await mapDocumentErrors(WHAT, () => convertDocx(buffer)) }
}

async function convertDocx(buffer: Buffer): Promise<{ text: string; html: string }> {
  let text = ''
  const { value: html } = await mammoth.convertToHtml(
    { buffer },
    {
      // An embedded style map could create any elements and attributes.
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      convertImage: (async () => []) as unknown as ImageConverter,
      transformDocument: (document: DocxElement) => {
        text = extractText(document)
        return removeUnsafeLinks(document)
      },
    },
  )
  guardDocumentText(html.length)
  return { text: text.replaceAll(/\n{3,}/g, '\n\n').trim(), html }
}

type ImageConverter = NonNullable<NonNullable<Parameters<typeof mammoth.convertToHtml>[1]>['convertImage']>

const SAFE_LINK = /^(?:https?:|mailto:|tel:)/i

/** Replaces links with unsafe schemes by their text. */
function removeUnsafeLinks(part: DocxElement): DocxElement {
  const children = part.children?.map(removeUnsafeLinks)
  const copy = children ? { ...part, children } : part
  return part.type === 'hyperlink' && part.href !== undefined && !SAFE_LINK.test(part.href.trim())
    ? { ...copy, type: 'run', href: undefined }
    : copy
}

/** Separates paragraphs by an empty line, and writes table rows as lines with tabs between the cells. */
function extractText(document: DocxElement): string {
  const pieces: string[] = []
  let length = 0
  const add = (piece: string) => {
    length += piece.length
    guardDocumentText(length)
    pieces.push(piece)
  }
  const walk = (part: DocxElement): void => {
    if (part.type === 'text') add(part.value ?? '')
    else if (part.type === 'tab') add('\t')
    else if (part.type === 'break') add('\n')
    else if (part.type === 'tableRow') add(`${(part.children ?? []).map(extractCellText).join('\t')}\n`)
    else part.children?.forEach(walk)
    if (part.type === 'paragraph') add('\n\n')
    if (part.type === 'table') add('\n')
  }
  walk(document)
  return pieces.join('')
}

/** The text of a cell on one line. */
function extractCellText(cell: DocxElement): string {
  return extractText({ type: 'cell', children: cell.children ?? [] })
    .trim()
    .replaceAll(/\s+/g, ' ')
}
