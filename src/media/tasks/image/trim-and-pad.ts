// The tasks that remove or add edges of an image.
import type { Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers } from '../../task-runner.ts'
import type { OpenedImage } from './codec.ts'
import {
  createImageTask,
  guardImageSize,
  imageFromPixels,
  parseColour,
  type RgbaPixels,
  readPixels,
} from './task-helpers.ts'

interface TrimParams {
  readonly tolerance: number
}

/** Crops to the smallest box around all pixels that differ from the top left one. */
async function trimImage({ image }: OpenedImage, { tolerance }: TrimParams): Promise<Sharp> {
  const pixels = await readPixels(image)
  const box = findContentBox(pixels, tolerance)
  if (!box) throw new MediaFault('bad_input', 'The image has only one colour: nothing would be left.')
  return imageFromPixels(pixels).extract(box)
}

function findContentBox({ data, width, height }: RgbaPixels, tolerance: number) {
  let [left, right, top, bottom] = [width, -1, -1, -1]
  for (let y = 0; y < height; y++) {
    let x = 0
    while (x < width && !differsFromCorner(data, (y * width + x) * 4, tolerance)) x++
    if (x === width) continue
    let last = width - 1
    while (!differsFromCorner(data, (y * width + last) * 4, tolerance)) last--
    left = Math.min(left, x)
    right = Math.max(right, last)
    if (top < 0) top = y
    bottom = y
  }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 }
}

/** Transparent pixels count as equal, with any colours. */
function differsFromCorner(data: Buffer, at: number, tolerance: number): boolean {
  if (Math.abs(data[at + 3]! - data[3]!) > tolerance) return true
  if (data[at + 3] === 0 && data[3] === 0) return false
  for (let channel = 0; channel < 3; channel++)
    if (Math.abs(data[at + channel]! - data[channel]!) > tolerance) return true
  return false
}

interface PadParams {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
  readonly background: string
}

async function padImage(picture: OpenedImage, { left, right, top, bottom, background }: PadParams): Promise<Sharp> {
  guardImageSize(picture.width + left + right, picture.height + top + bottom)
  const colour = await parseColour(background)
  const pixels = await readPixels(picture.image)
  return imageFromPixels(pixels).extend({ left, right, top, bottom, background: colour })
}

export const trimAndPadTasks: MediaTaskHandlers = {
  'image.trim': createImageTask<TrimParams>(trimImage),
  'image.pad': createImageTask<PadParams>(padImage),
}
