// What tasks on single pictures share: opening, writing, sizes, colours, and pixels as plain bytes.

import sharp, { type Sharp } from 'sharp'
import { cut } from '../../short.ts'
import { MediaFault } from '../fault.ts'
import type { Made, Task } from '../serving.ts'
import {
  type Format,
  formatOf,
  judged,
  LONGEST_SIDE,
  MOST_PIXELS,
  type Opened,
  opened,
  tooManyFrames,
  tooManyPixels,
  type Wanted,
  written,
} from './image-read.ts'

export interface Output {
  readonly format: Format | null
  readonly quality: number | null
}

type Shape<Params> = (picture: Opened, params: Params) => Sharp | Promise<Sharp>

/** A task that makes one picture of one: of its first frame, where it moves. */
export function shaped<Params>(shape: Shape<Params>): Task {
  return shapedOf(shape, () => ({}))
}

/** As `shaped`, of all frames where what is written can hold them, or of the one that is asked for. */
export function shapedMoving<Params>(shape: Shape<Params>): Task {
  return shapedOf(shape, ({ format, frame }) => ({ into: format, frame: (frame as number | null | undefined) ?? null }))
}

function shapedOf<Params>(shape: Shape<Params>, wanted: (params: Readonly<Record<string, unknown>>) => Wanted): Task {
  return async ([bytes], params): Promise<Made> => {
    const picture = await opened(bytes!, wanted(params))
    const { format, quality } = params as unknown as Output
    const image = await shape(picture, params as unknown as Params)
    return written(image, { format: formatOf(format, picture), quality })
  }
}

/** @throws MediaFault where a picture of this size, or so many of them, is not made */
export function within(width: number, height: number, frames = 1): void {
  if (width < 1 || height < 1) throw new MediaFault('bad_input', 'The image would have no pixels.')
  if (width > LONGEST_SIDE || height > LONGEST_SIDE)
    throw new MediaFault('too_large', `The image would be longer than ${LONGEST_SIDE.toLocaleString('en')} pixels.`)
  if (width * height > MOST_PIXELS) throw tooManyPixels()
  if (width * height * frames > MOST_PIXELS) throw tooManyFrames()
}

/** Red, green, blue and alpha in eight bits each: what all pictures are where pixels of several meet. */
export interface Pixels {
  readonly data: Buffer
  readonly width: number
  readonly height: number
}

export async function pixelsOf(image: Sharp): Promise<Pixels> {
  const { data, info } = await judged(() =>
    image.toColourspace('srgb').ensureAlpha().raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true }),
  )
  return { data, width: info.width, height: info.height }
}

export function imageOf({ data, width, height }: Pixels): Sharp {
  return sharp(data, { raw: { width, height, channels: 4 }, limitInputPixels: MOST_PIXELS })
}

/** The library turns a picture once in a pipeline, and its camera's turn counts: what comes first is done first. */
export async function apart({ image }: Opened): Promise<Sharp> {
  const { data, info } = await judged(() => image.raw().toBuffer({ resolveWithObject: true }))
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
export async function colourOf(text: string): Promise<Colour> {
  try {
    if (text.length > LONGEST_COLOUR) throw new Error('no colour has so long a name')
    const one = sharp({ create: { width: 1, height: 1, channels: 4, background: text } })
    const [r, g, b, alpha] = await one.raw().toBuffer()
    return { r: r!, g: g!, b: b!, alpha: alpha! / 255 }
  } catch (cause) {
    const shown = cut(text, 40)
    throw new MediaFault('bad_input', `"${shown}" is no colour. Write it as #ff0000, rgba(255,0,0,0.5) or red.`, {
      cause,
    })
  }
}
