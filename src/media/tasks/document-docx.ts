// The task on Word documents, by mammoth: their text, and the same as HTML.
import mammoth from 'mammoth'
import { MediaFault } from '../fault.ts'
import type { Made, Task } from '../serving.ts'
import { damaged, guardText } from './document-limits.ts'
import { openedPackage, packed } from './document-package.ts'

const WHAT = 'The Word document'

/** What the library makes of a document before it writes HTML. */
interface Part {
  readonly type: string
  readonly children?: readonly Part[]
  readonly value?: string
  readonly href?: string
}

export const docxText: Task = async ([bytes]): Promise<Made> => {
  const given = await openedPackage(bytes!, WHAT)
  if (![...given.names].some((name) => /^word\/.*\.xml$/.test(name)))
    throw new MediaFault('unsupported', `${WHAT} is of another kind.`)
  const parts = new Map<string, string>()
  // Pictures and the like stay packed.
  for (const name of given.names) if (/\.(?:xml|rels)$/i.test(name)) parts.set(name, await given.xml(name))
  const buffer = await packed(parts)
  return { value: await damaged(WHAT, () => converted(buffer)) }
}

async function converted(buffer: Buffer): Promise<{ text: string; html: string }> {
  let text = ''
  const { value: html } = await mammoth.convertToHtml(
    { buffer },
    {
      // It names elements and attributes of any kind.
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      convertImage: (async () => []) as unknown as ImageConverter,
      transformDocument: (document: Part) => {
        text = textOf(document)
        return harmless(document)
      },
    },
  )
  guardText(html.length)
  return { text: text.replaceAll(/\n{3,}/g, '\n\n').trim(), html }
}

type ImageConverter = NonNullable<NonNullable<Parameters<typeof mammoth.convertToHtml>[1]>['convertImage']>

const ADDRESS = /^(?:https?:|mailto:|tel:)/i

/** The same without links that may do more than lead somewhere: their text alone. */
function harmless(part: Part): Part {
  const children = part.children?.map(harmless)
  const same = children ? { ...part, children } : part
  return part.type === 'hyperlink' && part.href !== undefined && !ADDRESS.test(part.href.trim())
    ? { ...same, type: 'run', href: undefined }
    : same
}

/** Paragraphs apart by an empty line; tables as lines of cells, a tab between two. */
function textOf(document: Part): string {
  const pieces: string[] = []
  let length = 0
  const add = (piece: string) => {
    length += piece.length
    guardText(length)
    pieces.push(piece)
  }
  const walk = (part: Part): void => {
    if (part.type === 'text') add(part.value ?? '')
    else if (part.type === 'tab') add('\t')
    else if (part.type === 'break') add('\n')
    else if (part.type === 'tableRow') add(`${(part.children ?? []).map(cellOf).join('\t')}\n`)
    else part.children?.forEach(walk)
    if (part.type === 'paragraph') add('\n\n')
    if (part.type === 'table') add('\n')
  }
  walk(document)
  return pieces.join('')
}

/** A cell on one line. */
function cellOf(cell: Part): string {
  return textOf({ type: 'cell', children: cell.children ?? [] })
    .trim()
    .replaceAll(/\s+/g, ' ')
}
