// The tasks that draw images and text on an image.
import type { Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { type BlendOptions, blendImage, findVisibleArea } from './blending.ts'
import { chooseFormat, MOST_PIXELS, type OpenedImage, openImage, writeImage } from './codec.ts'
import { createImageTask, type ImageOutputParams, imageFromPixels, parseColour, readPixels } from './task-helpers.ts'
import { readImageSize, renderText, type TextStyle } from './text-rendering.ts'

interface LayerPlacement extends BlendOptions {
  readonly left: number
  readonly top: number
}

/** The first file is the base; the others are drawn on it, each at its place. */
async function compositeImages(
  files: readonly Uint8Array[],
  params: Readonly<Record<string, unknown>>,
): Promise<MediaTaskResult> {
  const { places, format, quality } = params as unknown as ImageOutputParams & { places: LayerPlacement[] }
  const base = await openImage(files[0]!)
  const pixels = await readPixels(base.image)
  for (const [at, { left, top, ...as }] of places.entries()) {
    const layer = await openImage(files[at + 1]!)
    if (base.width * base.height + layer.width * layer.height > MOST_PIXELS)
      throw new MediaFault('too_large', 'An image and a layer have too many pixels together.')
    const seen = findVisibleArea(base, layer, left, top)
    if (seen) await blendImage(pixels, layer.image, seen, as)
  }
  return writeImage(imageFromPixels(pixels), { format: chooseFormat(format, base), quality })
}

const GRAVITIES = ['top_left', 'top', 'top_right', 'left', 'center', 'right', 'bottom_left', 'bottom', 'bottom_right']

interface DrawTextParams extends Omit<TextStyle, 'colour'> {
  readonly text: string
  readonly colour: string
  readonly gravity: string
  readonly margin: number
  readonly left: number | null
  readonly top: number | null
  readonly width: number | null
}

async function drawText({ image, width, height }: OpenedImage, asked: DrawTextParams): Promise<Sharp> {
  const colour = await parseColour(asked.colour)
  const wide = asked.width ?? width - (asked.left ?? 2 * asked.margin)
  if (wide < 1) throw new MediaFault('bad_input', `There is no room for the text: the image is ${width} pixels wide.`)
  const letters = await renderText(asked.text, wide, { ...asked, colour })
  if (!letters) return image
  const size = await readImageSize(letters)
  const [column, row] = [GRAVITIES.indexOf(asked.gravity) % 3, Math.floor(GRAVITIES.indexOf(asked.gravity) / 3)]
  const left = asked.left ?? alignedOffset(column, width - size.width, asked.margin)
  const top = asked.top ?? alignedOffset(row, height - size.height, asked.margin)
  const seen = findVisibleArea({ width, height }, size, left, top)
  if (!seen) return image
  const pixels = await readPixels(image)
  await blendImage(pixels, letters, seen, { opacity: colour.alpha, blend: 'over' })
  return imageFromPixels(pixels)
}

/** The offset at the beginning, in the middle or at the end of the free room. */
function alignedOffset(third: number, room: number, margin: number): number {
  return [margin, Math.floor(room / 2), room - margin][third]!
}

export const compositingTasks: MediaTaskHandlers = {
  'image.composite': compositeImages,
  'image.drawText': createImageTask<DrawTextParams>(drawText),
}
