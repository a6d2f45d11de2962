// How pictures are opened and written, whatever is done to them in between. The library is sharp, over libvips.
import sharp, { type Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskResult } from '../../task-runner.ts'

/** Of one picture, before and after: a picture in memory takes up to four bytes for each. */
export const MOST_PIXELS = 64_000_000
/** Of one side, in pixels. */
export const LONGEST_SIDE = 16_384
/** Of a moving picture. */
const MOST_FRAMES = 1_000

export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'avif' | 'gif' | 'tiff'
const WRITABLE_FORMATS: ReadonlySet<string> = new Set<ImageFormat>(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'])

// One picture is worked on at a time, and nothing of it is of use to the next.
sharp.concurrency(1)
sharp.cache(false)

/** Formats whose pictures may move. */
const ANIMATED_FORMATS: ReadonlySet<string> = new Set<ImageFormat>(['gif', 'webp'])

export interface OpenedImage {
  readonly image: Sharp
  readonly width: number
  readonly height: number
  /** As the library calls it, but for `avif`: `png`, `jpeg`, `svg` … */
  readonly format: string
  /** Of the file: the frames of a moving picture, or pages. */
  readonly frames: number
  /** Those that `image` has, one below the other; 1 but for a moving picture. */
  readonly opened_frames: number
}

/** Which of a file's frames are opened, where it has several. */
export interface FrameSelection {
  /** The one of this number, from 1. Null: the first, but for `into`. */
  readonly frame?: number | null
  /** A format to write, null being that of the picture: all frames of a moving picture are opened where it can hold them. */
  readonly into?: unknown
}

const READ_OPTIONS = { limitInputPixels: MOST_PIXELS, failOn: 'error', sequentialRead: false } as const

/** Opens a picture, turned as its camera says. @throws MediaFault `bad_file`, `unsupported`, `too_large`, `bad_input` */
export async function openImage(bytes: Uint8Array, { frame = null, into }: FrameSelection = {}): Promise<OpenedImage> {
  const found = await readImageInfo(bytes)
  const { format, frames } = found
  const all =
    frame === null &&
    into !== undefined &&
    frames > 1 &&
    canBeAnimated(format) &&
    canBeAnimated(chooseFormat(into, found))
  if (all) {
    const { width, height } = found
    if (width * height * frames > MOST_PIXELS) throw tooManyFrames()
    return { ...found, image: sharp(bytes, { ...READ_OPTIONS, animated: true }), width, height, opened_frames: frames }
  }
  const page = (frame ?? 1) - 1
  const { width, height, orientation = 1 } = page === 0 ? found : await readPageInfo(bytes, page, frames)
  const turned = orientation >= 5
  return {
    image: sharp(bytes, page === 0 ? READ_OPTIONS : { ...READ_OPTIONS, page }).autoOrient(),
    width: turned ? height : width,
    height: turned ? width : height,
    format,
    frames,
    opened_frames: 1,
  }
}

function canBeAnimated(format: string): boolean {
  return ANIMATED_FORMATS.has(format)
}

async function readImageInfo(bytes: Uint8Array) {
  const {
    width,
    height,
    format,
    compression,
    orientation,
    pages: frames = 1,
  } = await mapImageErrors(() => sharp(bytes, READ_OPTIONS).metadata())
  if (format === 'heif' && compression !== 'av1')
    throw new MediaFault('unsupported', 'The image is HEIC, which is not read. Turn it into a JPEG or PNG first.')
  if (width * height > MOST_PIXELS) throw tooManyPixels()
  if (frames > MOST_FRAMES) throw new MediaFault('too_large', `The image has more than ${MOST_FRAMES} frames.`)
  return { width, height, format: format === 'heif' ? 'avif' : (format as string), orientation, frames }
}

async function readPageInfo(bytes: Uint8Array, page: number, frames: number) {
  if (page >= frames)
    throw new MediaFault('bad_input', `The image has ${frames} frames or pages, and none of number ${page + 1}.`)
  const facts = await mapImageErrors(() => sharp(bytes, { ...READ_OPTIONS, page }).metadata())
  if (facts.width * facts.height > MOST_PIXELS) throw tooManyPixels()
  return facts
}

export function tooManyFrames(): MediaFault {
  const cure = 'Write it as PNG to take its first frame alone, or make it smaller before.'
  return new MediaFault(
    'too_large',
    `The frames of the image have more than ${formatMostPixels()} pixels together. ${cure}`,
  )
}

function formatMostPixels(): string {
  return `${(MOST_PIXELS / 1_000_000).toLocaleString('en')} million`
}

export function tooManyPixels(): MediaFault {
  return new MediaFault('too_large', `The image would have more than ${formatMostPixels()} pixels.`)
}

/** The format to write where none is asked for: that of the picture if it can be written, else PNG. */
export function chooseFormat(asked: unknown, { format }: Pick<OpenedImage, 'format'>): ImageFormat {
  const name = asked === null || asked === undefined ? format : asked
  return (WRITABLE_FORMATS.has(name as string) ? name : 'png') as ImageFormat
}

export interface ImageWriteOptions {
  readonly format: ImageFormat
  /** From 1 to 100, for formats that lose something; null: as the format does by itself. */
  readonly quality: number | null
}

/** The picture as a file, with its size. Nothing of the original's metadata is kept but its colours. */
export async function writeImage(image: Sharp, { format, quality }: ImageWriteOptions): Promise<MediaTaskResult> {
  const opaque = format === 'jpeg' ? image.flatten({ background: '#ffffff' }) : image
  const { data, info } = await mapImageErrors(() =>
    opaque.toFormat(format, encoderOptionsOf(format, quality)).toBuffer({ resolveWithObject: true }),
  )
  const { width, height, pageHeight = height } = info
  return {
    files: [data],
    value: { width, height: pageHeight, content_type: `image/${format}`, extension: imageExtensionOf(format) },
  }
}

function encoderOptionsOf(format: ImageFormat, quality: number | null) {
  if (format === 'tiff') return quality === null ? { compression: 'lzw' as const } : { quality }
  return quality === null || format === 'png' || format === 'gif' ? {} : { quality }
}

export function imageExtensionOf(format: string): string {
  return format === 'jpeg' ? 'jpg' : format
}

/** What the library says in its own words is said in ours. */
export async function mapImageErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    throw toMediaFault(error as Error)
  }
}

/** The longest sides that formats hold, in pixels. */
const LONGEST_SIDES = 'WebP holds 16,383 pixels a side, AVIF 16,384, JPEG 65,500 and GIF 65,535'

function toMediaFault(error: Error): MediaFault {
  const { message } = error
  const cause = { cause: error }
  if (/too large for|maximum supported image dimension/i.test(message))
    return new MediaFault('too_large', `The image is too wide or too high for this format: ${LONGEST_SIDES}.`, cause)
  if (/pixel limit|too large|exceeds.*(?:limit|maximum)/i.test(message))
    return new MediaFault('too_large', tooManyPixels().message, cause)
  if (/unsupported image format|no known (?:loader|saver)|not a known/i.test(message))
    return new MediaFault(
      'unsupported',
      'The file is no image of a kind that is read: PNG, JPEG, WebP, AVIF, GIF, TIFF, SVG.',
      cause,
    )
  if (/empty/i.test(message)) return new MediaFault('bad_file', 'The image is empty.', cause)
  const what = 'The image cannot be read to its end: it is damaged, or written in a way that is not read.'
  return new MediaFault('bad_file', what, cause)
}
