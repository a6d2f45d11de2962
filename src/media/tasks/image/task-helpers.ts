// The shared parts of image tasks: opening, writing, sizes, colours, and pixels as bytes.

import sharp, { type Sharp } from 'sharp'
import { truncateText } from '../../../shared/text-truncation.ts'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandler, MediaTaskResult } from '../../task-runner.ts'
import {
  chooseFormat,
  type FrameSelection,
  type ImageFormat,
  LONGEST_SIDE,
  MOST_PIXELS,
  mapImageErrors,
  type OpenedImage,
  openImage,
  tooManyFrames,
  tooManyPixels,
  writeImage,
} from './codec.ts'

export interface ImageOutputParams {
  readonly format: ImageFormat | null
  readonly quality: number | null
}

type ImageTransform<Params> = (picture: OpenedImage, params: Params) => Sharp | Promise<Sharp>

/** Makes a task that converts one image; of an animated image, the first frame. */
export function createImageTask<Params>(shape: ImageTransform<Params>): MediaTaskHandler {
  return createTransformTask(shape, () => ({}))
}

/** Like `createImageTask`, for all frames where the written format can be animated, or for the requested frame. */
export function createAnimatedImageTask<Params>(shape: ImageTransform<Params>): MediaTaskHandler {
  return createTransformTask(shape, ({ format, frame }) => ({
    into: format,
    frame: (frame as number | null | undefined) ?? null,
  }))
}

function createTransformTask<Params>(
  shape: ImageTransform<Params>,
  wanted: (params: Readonly<Record<string, unknown>>) => FrameSelection,
): MediaTaskHandler {
  return async ([bytes], params): Promise<MediaTaskResult> => {
    const picture = await openImage(bytes!, wanted(params))
    const { format, quality } = params as unknown as ImageOutputParams
    const image = await shape(picture, params as unknown as Params)
    return writeImage(image, { format: chooseFormat(format, picture), quality })
  }
}

/** @throws MediaFault where an image of this size, or with so many frames, exceeds a limit */
export function guardImageSize(width: number, height: number, frames = 1): void {
  if (width < 1 || height < 1) throw new MediaFault('bad_input', 'The image would have no pixels.')
  if (width > LONGEST_SIDE || height > LONGEST_SIDE)
    throw new MediaFault('too_large', `The image would be longer than ${LONGEST_SIDE.toLocaleString('en')} pixels.`)
  if (width * height > MOST_PIXELS) throw tooManyPixels()
  if (width * height * frames > MOST_PIXELS) throw tooManyFrames()
}

/** Red, green, blue and alpha with eight bits each: the common form for combining images. */
export interface RgbaPixels {
  readonly data: Buffer
  readonly width: number
  readonly height: number
}

export async function readPixels(image: Sharp): Promise<RgbaPixels> {
  const { data, info } = await mapImageErrors(() =>
    image.toColourspace('srgb').ensureAlpha().raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true }),
  )
  return { data, width: info.width, height: info.height }
}

export function imageFromPixels({ data, width, height }: RgbaPixels): Sharp {
  return sharp(data, { raw: { width, height, channels: 4 }, limitInputPixels: MOST_PIXELS })
}

/** Executes the pipeline so far. The library rotates only once in a pipeline, and the EXIF orientation already counts. */
export async function renderPipeline({ image }: OpenedImage): Promise<Sharp> {
  const { data, info } = await mapImageErrors(() => image.raw().toBuffer({ resolveWithObject: true }))
  return sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } })
}

export interface Colour {
  readonly r: number
  readonly g: number
  readonly b: number
  /** From 0 to 1. */
  readonly alpha: number
}

const LONGEST_COLOUR = 100

/** Parses a CSS colour: `red`, `#f00`, `rgba(255,0,0,0.5)`. @throws MediaFault `bad_input` */
export async function parseColour(text: string): Promise<Colour> {
  try {
    if (text.length > LONGEST_COLOUR) throw new Error('the colour is too long')
    const one = sharp({ create: { width: 1, height: 1, channels: 4, background: text } })
    const [r, g, b, alpha] = await one.raw().toBuffer()
    return { r: r!, g: g!, b: b!, alpha: alpha! / 255 }
  } catch (cause) {
    const shown = truncateText(text, 40)
    throw new MediaFault('bad_input', `"${shown}" is no colour. Write it as #ff0000, rgba(255,0,0,0.5) or red.`, {
      cause,
    })
  }
}
