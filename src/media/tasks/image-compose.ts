// Pictures, and text, upon a picture.
import type { Sharp } from 'sharp'
import { MediaFault } from '../fault.ts'
import type { Made, Tasks } from '../serving.ts'
import { type LaidAs, lay, seenOf } from './image-layers.ts'
import { formatOf, MOST_PIXELS, type Opened, opened, written } from './image-read.ts'
import { colourOf, imageOf, type Output, pixelsOf, shaped } from './image-shape.ts'
import { type Lettering, lettered, sizeOf } from './image-text.ts'

interface Place extends LaidAs {
  readonly left: number
  readonly top: number
}

/** The first file is what the others are laid upon, each at its place. */
async function composed(files: readonly Uint8Array[], params: Readonly<Record<string, unknown>>): Promise<Made> {
  const { places, format, quality } = params as unknown as Output & { places: Place[] }
  const base = await opened(files[0]!)
  const pixels = await pixelsOf(base.image)
  for (const [at, { left, top, ...as }] of places.entries()) {
    const layer = await opened(files[at + 1]!)
    if (base.width * base.height + layer.width * layer.height > MOST_PIXELS)
      throw new MediaFault('too_large', 'An image and the one that is laid upon it have too many pixels together.')
    const seen = seenOf(base, layer, left, top)
    if (seen) await lay(pixels, layer.image, seen, as)
  }
  return written(imageOf(pixels), { format: formatOf(format, base), quality })
}

const GRAVITIES = ['top_left', 'top', 'top_right', 'left', 'center', 'right', 'bottom_left', 'bottom', 'bottom_right']

interface DrawText extends Omit<Lettering, 'colour'> {
  readonly text: string
  readonly colour: string
  readonly gravity: string
  readonly margin: number
  readonly left: number | null
  readonly top: number | null
  readonly width: number | null
}

async function withText({ image, width, height }: Opened, asked: DrawText): Promise<Sharp> {
  const colour = await colourOf(asked.colour)
  const wide = asked.width ?? width - (asked.left ?? 2 * asked.margin)
  if (wide < 1) throw new MediaFault('bad_input', `There is no room for text: the image is ${width} pixels wide.`)
  const letters = await lettered(asked.text, wide, { ...asked, colour })
  if (!letters) return image
  const size = await sizeOf(letters)
  const [column, row] = [GRAVITIES.indexOf(asked.gravity) % 3, Math.floor(GRAVITIES.indexOf(asked.gravity) / 3)]
  const left = asked.left ?? placed(column, width - size.width, asked.margin)
  const top = asked.top ?? placed(row, height - size.height, asked.margin)
  const seen = seenOf({ width, height }, size, left, top)
  if (!seen) return image
  const pixels = await pixelsOf(image)
  await lay(pixels, letters, seen, { opacity: colour.alpha, blend: 'over' })
  return imageOf(pixels)
}

/** At the beginning, in the middle or at the end of what room there is. */
function placed(third: number, room: number, margin: number): number {
  return [margin, Math.floor(room / 2), room - margin][third]!
}

export const composeTasks: Tasks = {
  'image.composite': composed,
  'image.drawText': shaped<DrawText>(withText),
}
