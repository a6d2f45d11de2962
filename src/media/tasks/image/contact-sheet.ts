// The task that draws many images on one: thumbnails in a grid, with their names below.
import sharp from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { blendImage, blendPixels, findVisibleArea } from './blending.ts'
import { type ImageFormat, openImage, writeImage } from './codec.ts'
import {
  type Colour,
  guardImageSize,
  imageFromPixels,
  parseColour,
  type RgbaPixels,
  readPixels,
} from './task-helpers.ts'
import { readImageSize, removeControlCharacters, renderText } from './text-rendering.ts'

interface ContactSheetParams {
  readonly names: readonly string[]
  readonly columns: number
  readonly size: number
  readonly gap: number
  readonly text_size: number
  readonly background: string
  readonly colour: string
  readonly format: ImageFormat | null
  readonly quality: number | null
}

interface CellPosition {
  readonly left: number
  readonly top: number
}

async function drawContactSheet(
  files: readonly Uint8Array[],
  params: Readonly<Record<string, unknown>>,
): Promise<MediaTaskResult> {
  const asked = params as unknown as ContactSheetParams
  const { columns, size, gap, names } = asked
  const [background, colour] = [await parseColour(asked.background), await parseColour(asked.colour)]
  if (files.length === 0) throw new MediaFault('bad_input', 'There are no images.')
  const across = Math.min(columns, files.length)
  // The height of a line with its descenders.
  const line = names.length > 0 ? Math.ceil(asked.text_size * 1.5) : 0
  const [width, height] = [across * (size + gap) + gap, Math.ceil(files.length / across) * (size + line + gap) + gap]
  guardImageSize(width, height)
  const canvas = await readPixels(sharp({ create: { width, height, channels: 4, background } }))
  for (const [at, bytes] of files.entries()) {
    const cell = { left: gap + (at % across) * (size + gap), top: gap + Math.floor(at / across) * (size + line + gap) }
    await drawThumbnail(canvas, bytes, cell, size)
    if (line > 0) await drawLabel(canvas, names[at] ?? '', cell, asked, colour)
  }
  return writeImage(imageFromPixels(canvas), { format: asked.format ?? 'png', quality: asked.quality })
}

/** Centres the thumbnail in its cell. A smaller image is not enlarged. */
async function drawThumbnail(canvas: RgbaPixels, bytes: Uint8Array, cell: CellPosition, size: number): Promise<void> {
  const { image } = await openImage(bytes)
  const small = await readPixels(image.resize({ width: size, height: size, fit: 'inside', withoutEnlargement: true }))
  const [left, top] = [
    cell.left + Math.floor((size - small.width) / 2),
    cell.top + Math.floor((size - small.height) / 2),
  ]
  blendPixels(canvas, small, { left, top }, { opacity: 1, blend: 'over' })
}

/** Draws one line of text below a thumbnail, cut to the width of the cell. */
async function drawLabel(
  canvas: RgbaPixels,
  name: string,
  cell: CellPosition,
  { size, text_size }: ContactSheetParams,
  colour: Colour,
): Promise<void> {
  const text = shortenText(
    removeControlCharacters(name).replace(/\s+/g, ' ').trim(),
    Math.floor(size / (text_size * 0.65)),
  )
  // Twice the width, so that the text stays on one line.
  const letters = await renderText(text, size * 2, {
    font: 'sans',
    bold: false,
    size: text_size,
    colour,
    align: 'left',
  })
  if (!letters) return
  const { width, height } = await readImageSize(letters)
  const room = { width: size, height: Math.ceil(text_size * 1.5) }
  const seen = findVisibleArea(
    room,
    { width, height },
    Math.max(0, Math.floor((size - width) / 2)),
    Math.ceil(text_size / 4),
  )
  if (!seen) return
  const place = { box: seen.box, left: cell.left + seen.left, top: cell.top + size + seen.top }
  await blendImage(canvas, letters, place, { opacity: colour.alpha, blend: 'over' })
}

function shortenText(text: string, most: number): string {
  const letters = [...text]
  return letters.length <= most ? text : `${letters.slice(0, Math.max(0, most - 1)).join('')}…`
}

export const contactSheetTasks: MediaTaskHandlers = { 'image.contactSheet': drawContactSheet }
