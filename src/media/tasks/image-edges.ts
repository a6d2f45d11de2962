// What is cut off at the edges of a picture, and what is added to them.
import type { Sharp } from 'sharp'
import { MediaFault } from '../fault.ts'
import type { Tasks } from '../serving.ts'
import type { Opened } from './image-read.ts'
import { colourOf, imageOf, type Pixels, pixelsOf, shaped, within } from './image-shape.ts'

interface Trim {
  readonly tolerance: number
}

/** Of a picture's pixels, those that differ from its top left one, as the smallest box around them. */
async function trimmed({ image }: Opened, { tolerance }: Trim): Promise<Sharp> {
  const pixels = await pixelsOf(image)
  const box = boxOf(pixels, tolerance)
  if (!box) throw new MediaFault('bad_input', 'The image has one colour alone: nothing of it would be left.')
  return imageOf(pixels).extract(box)
}

function boxOf({ data, width, height }: Pixels, tolerance: number) {
  let [left, right, top, bottom] = [width, -1, -1, -1]
  for (let y = 0; y < height; y++) {
    let x = 0
    while (x < width && !differs(data, (y * width + x) * 4, tolerance)) x++
    if (x === width) continue
    let last = width - 1
    while (!differs(data, (y * width + last) * 4, tolerance)) last--
    left = Math.min(left, x)
    right = Math.max(right, last)
    if (top < 0) top = y
    bottom = y
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 }
}

/** Pixels that nobody sees are alike, whatever their colours. */
function differs(data: Buffer, at: number, tolerance: number): boolean {
  if (Math.abs(data[at + 3]! - data[3]!) > tolerance) return true
  if (data[at + 3] === 0 && data[3] === 0) return false
  for (let channel = 0; channel < 3; channel++)
    if (Math.abs(data[at + channel]! - data[channel]!) > tolerance) return true
  return false
}

interface Pad {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
  readonly background: string
}

async function padded(picture: Opened, { left, right, top, bottom, background }: Pad): Promise<Sharp> {
  within(picture.width + left + right, picture.height + top + bottom)
  const colour = await colourOf(background)
  const pixels = await pixelsOf(picture.image)
  return imageOf(pixels).extend({ left, right, top, bottom, background: colour })
}

export const edgeTasks: Tasks = {
  'image.trim': shaped<Trim>(trimmed),
  'image.pad': shaped<Pad>(padded),
}
