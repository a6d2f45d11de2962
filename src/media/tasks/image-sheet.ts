// Many pictures on one: small ones in a grid, their names below them.
import sharp from 'sharp'
import { MediaFault } from '../fault.ts'
import type { Made, Tasks } from '../serving.ts'
import { lay, layPixels, seenOf } from './image-layers.ts'
import { type Format, opened, written } from './image-read.ts'
import { type Colour, colourOf, imageOf, type Pixels, pixelsOf, within } from './image-shape.ts'
import { cleaned, lettered, sizeOf } from './image-text.ts'

interface Sheet {
  readonly names: readonly string[]
  readonly columns: number
  readonly size: number
  readonly gap: number
  readonly text_size: number
  readonly background: string
  readonly colour: string
  readonly format: Format | null
  readonly quality: number | null
}

interface Cell {
  readonly left: number
  readonly top: number
}

async function sheet(files: readonly Uint8Array[], params: Readonly<Record<string, unknown>>): Promise<Made> {
  const asked = params as unknown as Sheet
  const { columns, size, gap, names } = asked
  const [background, colour] = [await colourOf(asked.background), await colourOf(asked.colour)]
  if (files.length === 0) throw new MediaFault('bad_input', 'There are no images.')
  const across = Math.min(columns, files.length)
  // A line of letters and what goes below it.
  const line = names.length > 0 ? Math.ceil(asked.text_size * 1.5) : 0
  const [width, height] = [across * (size + gap) + gap, Math.ceil(files.length / across) * (size + line + gap) + gap]
  within(width, height)
  const canvas = await pixelsOf(sharp({ create: { width, height, channels: 4, background } }))
  for (const [at, bytes] of files.entries()) {
    const cell = { left: gap + (at % across) * (size + gap), top: gap + Math.floor(at / across) * (size + line + gap) }
    await thumbnail(canvas, bytes, cell, size)
    if (line > 0) await label(canvas, names[at] ?? '', cell, asked, colour)
  }
  return written(imageOf(canvas), { format: asked.format ?? 'png', quality: asked.quality })
}

/** In the middle of its cell; a picture that is smaller stays as it is. */
async function thumbnail(canvas: Pixels, bytes: Uint8Array, cell: Cell, size: number): Promise<void> {
  const { image } = await opened(bytes)
  const small = await pixelsOf(image.resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true }))
  const [left, top] = [
    cell.left + Math.floor((size - small.width) / 2),
    cell.top + Math.floor((size - small.height) / 2),
  ]
  layPixels(canvas, small, { left, top }, { opacity: 1, blend: 'over' })
}

/** One line below a picture, as much of it as there is room for. */
async function label(
  canvas: Pixels,
  name: string,
  cell: Cell,
  { size, text_size }: Sheet,
  colour: Colour,
): Promise<void> {
  const text = shortened(cleaned(name).replace(/\s+/g, ' ').trim(), Math.floor(size / (text_size * 0.65)))
  // A width with room to spare, for one line alone.
  const letters = await lettered(text, size * 2, { font: 'sans', bold: false, size: text_size, colour, align: 'left' })
  if (!letters) return
  const { width, height } = await sizeOf(letters)
  const room = { width: size, height: Math.ceil(text_size * 1.5) }
  const seen = seenOf(room, { width, height }, Math.max(0, Math.floor((size - width) / 2)), Math.ceil(text_size / 4))
  if (!seen) return
  const place = { box: seen.box, left: cell.left + seen.left, top: cell.top + size + seen.top }
  await lay(canvas, letters, place, { opacity: colour.alpha, blend: 'over' })
}

function shortened(text: string, most: number): string {
  const letters = [...text]
  return letters.length <= most ? text : `${letters.slice(0, Math.max(0, most - 1)).join('')}…`
}

export const sheetTasks: Tasks = { 'image.contactSheet': sheet }
