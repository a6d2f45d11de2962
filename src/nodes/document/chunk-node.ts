// document.Chunk: splits a long text into overlapping pieces with their positions.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { findChunkEnd } from '../shared/text-chunks.ts'
import { guardListLength, guardTotalText } from '../shared/value-limits.ts'
import { splitIntoSections } from './markdown-sections.ts'

interface Chunk {
  text: string
  /** In characters from the start of the text. `end` is behind the last character. */
  start: number
  end: number
  /** For Markdown: the headings above the piece, the highest level first. */
  headings?: string[]
}

interface ChunkInputs {
  text: string
  size: number
  overlap: number
  markdown: boolean
}

/**
 * Pieces of at most `size` characters, without white space at their ends. Each begins within the last `overlap` characters of the piece
 * before.
 */
function createChunks({ text, size, overlap, markdown }: ChunkInputs): Chunk[] {
  const chunks: Chunk[] = []
  let gathered = 0
  const add = (chunk: Chunk) => {
    chunks.push(chunk)
    gathered += chunk.text.length + (chunk.headings?.join('').length ?? 0)
    guardTotalText(gathered)
    guardListLength(chunks.length)
  }
  if (!markdown) addChunks(text, { size, overlap }, add)
  else
    for (const { start, end, headings } of splitIntoSections(text))
      addChunks(text.slice(start, end), { size, overlap }, (chunk) =>
        add({ ...chunk, start: start + chunk.start, end: start + chunk.end, headings }),
      )
  return chunks
}

function addChunks(
  text: string,
  { size, overlap }: Omit<ChunkInputs, 'text' | 'markdown'>,
  add: (chunk: Chunk) => void,
): void {
  for (let from = 0; from < text.length; ) {
    const to = text.length - from <= size ? text.length : from + findChunkEnd(text.slice(from, from + size))
    const piece = text.slice(from, to)
    const start = from + piece.length - piece.trimStart().length
    const trimmed = piece.trim()
    if (trimmed !== '') add({ text: trimmed, start, end: start + trimmed.length })
    from = to === text.length ? to : findOverlapStart(text, to, overlap)
  }
}

/** The start of a piece that repeats the end of the piece before: at a word, else anywhere. */
function findOverlapStart(text: string, to: number, overlap: number): number {
  if (overlap === 0) return to
  const earliest = to - overlap
  const word = /\s\S/.exec(text.slice(earliest - 1, to))
  if (word) return earliest + word.index
  const code = text.charCodeAt(earliest)
  return code >= 0xdc00 && code < 0xe000 ? earliest + 1 : earliest
}

export const documentChunkNodes: NodeType[] = [
  {
    node_type: 'document.Chunk',
    title: 'Chunk text',
    description:
      'Cuts a long text into overlapping pieces, for a model or an index of vectors: at the ends of paragraphs, lines, sentences or words. Each piece is {text, start, end}, with its position in characters. Markdown pieces also have {headings}.',
    properties: [
      requiredProperty('text', 'str', 'The text.'),
      optionalProperty('size', 'int', 'The most characters of a piece.', { default: 1_000, min: 20, max: 100_000 }),
      optionalProperty(
        'overlap',
        'int',
        'The most characters of a piece that the next piece repeats. It must be less than half of the size.',
        {
          default: 100,
          min: 0,
          max: 50_000,
        },
      ),
      optionalProperty(
        'markdown',
        'bool',
        'Whether the text is Markdown. If so, each heading begins a new piece, and each piece lists the headings above it.',
        { default: false },
      ),
    ],
    outputs: [valueOutput('chunks', 'list[dict[str,any]]'), valueOutput('texts', 'list[str]')],
    run(inputs) {
      const given = inputs as unknown as ChunkInputs
      // A piece has more than half of its size, so each begins later than the piece before.
      if (given.overlap * 2 >= given.size)
        throw new NodeError('The overlap must be less than half of the size.', 'bad_input')
      const chunks = createChunks(given)
      return { chunks, texts: chunks.map(({ text }) => text) }
    },
  },
]
