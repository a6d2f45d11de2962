// What tasks on single pictures share: opening, writing, sizes, colours, and pixels as plain bytes.

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

/** A task that makes one picture of one: of its first frame, where it moves. */
export function createImageTask<Params>(shape: ImageTransform<Params>): MediaTaskHandler {
  return createTransformTask(shape, () => ({}))
}

/** As `shaped`, of all frames where what is written can hold them, or of the one that is asked for. */
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

/** @throws MediaFault where a picture of this size, or so many of them, is not made */
export function guardImageSize(width: number, height: number, frames = 1): void {
  if (width < 1 || height < 1) throw new MediaFault('bad_input', 'The image would have no pixels.')
  if (width > LONGEST_SIDE || height > LONGEST_SIDE)
    throw new MediaFault('too_large', `The image would be longer than ${LONGEST_SIDE.toLocaleString('en')} pixels.`)
  if (width * height > MOST_PIXELS) throw tooManyPixels()
  if (width * height * frames > MOST_PIXELS) throw tooManyFrames()
}

/** Red, green, blue and alpha in eight bits each: what all pictures are where pixels of several meet. */
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

/** The library turns a picture once in a pipeline, and its camera's turn counts: what comes first is done first. */
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

/** A colour as CSS writes it: `red`, `#f00`, `rgba(255,0,0,0.5)`. @throws MediaFault `bad_input` */
export async function parseColour(text: string): Promise<Colour> {
  try {
    if (text.length > LONGEST_COLOUR) throw new Error('no colour has so long a name')
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
