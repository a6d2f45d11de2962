// Measures the width of texts in the chart font from its OpenType tables (cmap, head, hhea, hmtx). An estimate would cut letters off, or leave too much
// room.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The chart font, and fonts of the same width for programs that show an SVG without it. */
export const CHART_FONT = 'DejaVu Sans, Bitstream Vera Sans, Verdana, sans-serif'
/** In pixels, for axes and legends. */
export const LABEL_SIZE = 10

const FONT_FILES = { regular: 'DejaVuSans.ttf', bold: 'DejaVuSans-Bold.ttf' } as const
type FontStyle = keyof typeof FONT_FILES

/** The width of a letter as a fraction of the font size. */
type Advance = (letter: string) => number

const loadedFonts = new Map<FontStyle, Advance>()

/** In pixels, for a size in pixels. Combining marks and ligatures count as separate letters. */
export function measureText(text: string, size: number, bold: boolean): number {
  const face = bold ? 'bold' : 'regular'
  const advance = loadedFonts.get(face) ?? openFont(face)
  let width = 0
  for (const letter of text) width += advance(letter)
  return width * size
}

function openFont(face: FontStyle): Advance {
  const bytes = readFileSync(fileURLToPath(import.meta.resolve(`dejavu-fonts-ttf/ttf/${FONT_FILES[face]}`)))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tables = readTableOffsets(view)
  const [unit, count] = [view.getUint16(tables.head! + 18), view.getUint16(tables.hhea! + 34)]
  const glyphs = createGlyphLookup(view, tables.cmap!)
  const known = new Map<string, number>()
  const advance = (letter: string) => {
    const width = known.get(letter) ?? view.getUint16(tables.hmtx! + 4 * Math.min(glyphs(letter), count - 1)) / unit
    known.set(letter, width)
    return width
  }
  loadedFonts.set(face, advance)
  return advance
}

/** The offsets of the tables by name. */
function readTableOffsets(view: DataView): Record<string, number> {
  const tables: Record<string, number> = {}
  for (let at = 12; at < 12 + 16 * view.getUint16(4); at += 16) {
    const name = String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)))
    tables[name] = view.getUint32(at + 8)
  }
  return tables
}

/** Maps letters to glyphs by ranges of Unicode. A letter outside of all ranges is glyph 0, a box. */
function createGlyphLookup(view: DataView, cmap: number): (letter: string) => number {
  const UNICODE = 0x0003_000a
  const places = Array.from({ length: view.getUint16(cmap + 2) }, (_, index) => cmap + 4 + 8 * index)
  const table = cmap + view.getUint32(places.find((at) => view.getUint32(at) === UNICODE)! + 4)
  const ranges = Array.from({ length: view.getUint32(table + 12) }, (_, index) => table + 16 + 12 * index)
  return (letter) => {
    const code = letter.codePointAt(0)!
    const range = ranges.find((at) => code <= view.getUint32(at + 4))
    if (range === undefined || code < view.getUint32(range)) return 0
    return view.getUint32(range + 8) + code - view.getUint32(range)
  }
}
