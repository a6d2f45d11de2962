// How pictures are opened and written, whatever is done to them in between. The library is sharp, over libvips.
import sharp, { type Sharp } from 'sharp'
import { MediaFault } from '../fault.ts'
import type { Made } from '../serving.ts'

/** Of one picture, before and after: a picture in memory takes up to four bytes for each. */
export const MOST_PIXELS = 64_000_000
/** Of one side, in pixels. */
export const LONGEST_SIDE = 16_384
/** Of a moving picture. */
const MOST_FRAMES = 1_000

export type Format = 'png' | 'jpeg' | 'webp' | 'avif' | 'gif' | 'tiff'
const WRITTEN: ReadonlySet<string> = new Set<Format>(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'])

// One picture is worked on at a time, and nothing of it is of use to the next.
sharp.concurrency(1)
sharp.cache(false)

export interface Opened {
  readonly image: Sharp
  readonly width: number
  readonly height: number
  /** As the library calls it: `png`, `jpeg`, `svg` … */
  readonly format: string
  readonly frames: number
}

/** Opens a picture, turned as its camera says. @throws MediaFault `bad_file`, `unsupported`, `too_large` */
export async function opened(bytes: Uint8Array): Promise<Opened> {
  const options = { limitInputPixels: MOST_PIXELS, failOn: 'error' as const, sequentialRead: false }
  const facts = await judged(() => sharp(bytes, options).metadata())
  const { format, pages: frames = 1 } = facts
  if (facts.width * facts.height > MOST_PIXELS) throw tooManyPixels()
  if (frames > MOST_FRAMES) throw new MediaFault('too_large', `The image has more than ${MOST_FRAMES} frames.`)
  const turned = (facts.orientation ?? 1) >= 5
  const [width, height] = turned ? [facts.height, facts.width] : [facts.width, facts.height]
  return { image: sharp(bytes, options).autoOrient(), width, height, format, frames }
}

export function tooManyPixels(): MediaFault {
  const most = (MOST_PIXELS / 1_000_000).toLocaleString('en')
  return new MediaFault('too_large', `The image would have more than ${most} million pixels.`)
}

/** The format to write where none is asked for: that of the picture if it can be written, else PNG. */
export function formatOf(asked: unknown, { format }: Pick<Opened, 'format'>): Format {
  const name = asked === null || asked === undefined ? format : asked
  return (WRITTEN.has(name as string) ? name : 'png') as Format
}

export interface WrittenAs {
  readonly format: Format
  /** From 1 to 100, for formats that lose something; null: as the format does by itself. */
  readonly quality: number | null
}

/** The picture as a file, with its size. Nothing of the original's metadata is kept but its colours. */
export async function written(image: Sharp, { format, quality }: WrittenAs): Promise<Made> {
  const opaque = format === 'jpeg' ? image.flatten({ background: '#ffffff' }) : image
  const options = quality === null || format === 'png' || format === 'gif' ? {} : { quality }
  const { data, info } = await judged(() => opaque.toFormat(format, options).toBuffer({ resolveWithObject: true }))
  return {
    files: [data],
    value: { width: info.width, height: info.height, content_type: `image/${format}`, extension: extensionOf(format) },
  }
}

function extensionOf(format: Format): string {
  return format === 'jpeg' ? 'jpg' : format
}

/** What the library says in its own words is said in ours. */
export async function judged<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    throw faultOf(error as Error)
  }
}

function faultOf(error: Error): MediaFault {
  const { message } = error
  const cause = { cause: error }
  if (/pixel limit|too large|exceeds.*(?:limit|maximum)/i.test(message))
    return new MediaFault('too_large', tooManyPixels().message, cause)
  if (/unsupported image format|no known (?:loader|saver)|not a known/i.test(message))
    return new MediaFault(
      'unsupported',
      'The file is no image of a kind that is read: PNG, JPEG, WebP, AVIF, GIF, TIFF, SVG.',
      cause,
    )
  if (/empty/i.test(message)) return new MediaFault('bad_file', 'The image is empty.', cause)
  return new MediaFault('bad_file', 'The image is damaged: it cannot be read to its end.', cause)
}
