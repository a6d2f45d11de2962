// Opens and writes images with sharp (libvips).
import sharp, { type Sharp } from 'sharp'
import { MediaFault } from '../../fault.ts'
import type { MediaTaskResult } from '../../task-runner.ts'

/** Of one image, before and after the work: each pixel takes up to four bytes of memory. */
export const MOST_PIXELS = 64_000_000
/** Of one side, in pixels. */
export const LONGEST_SIDE = 16_384
/** Of an animated image. */
const MOST_FRAMES = 1_000

export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'avif' | 'gif' | 'tiff'
const WRITABLE_FORMATS: ReadonlySet<string> = new Set<ImageFormat>(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'])

// One image is processed at a time, and a cache would not help the next one.
sharp.concurrency(1)
sharp.cache(false)

/** Formats for animated images. */
const ANIMATED_FORMATS: ReadonlySet<string> = new Set<ImageFormat>(['gif', 'webp'])

export interface OpenedImage {
  readonly image: Sharp
  readonly width: number
  readonly height: number
  /** The library's name of the format, except `avif`: `png`, `jpeg`, `svg` … */
  readonly format: string
  /** The number of frames or pages of the file. */
  readonly frames: number
  /** The number of frames in `image`, one below the other; 1 except for an animated image. */
  readonly opened_frames: number
}

/** Selects the frames that are opened. */
export interface FrameSelection {
  /** The number of one frame, from 1. Null: the first, or all frames by `into`. */
  readonly frame?: number | null
  /** The format to write, null: the format of the image. If present, all frames are opened where both formats can be animated. */
  readonly into?: unknown
}

const READ_OPTIONS = { limitInputPixels: MOST_PIXELS, failOn: 'error', sequentialRead: false } as const

/** Opens an image with its EXIF orientation applied. @throws MediaFault `bad_file`, `unsupported`, `too_large`, `bad_input` */
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
    throw new MediaFault('unsupported', 'The image is HEIC, which is not supported. Convert it to JPEG or PNG first.')
  if (width * height > MOST_PIXELS) throw tooManyPixels()
  if (frames > MOST_FRAMES) throw new MediaFault('too_large', `The image has more than ${MOST_FRAMES} frames.`)
  return { width, height, format: format === 'heif' ? 'avif' : (format as string), orientation, frames }
}

async function readPageInfo(bytes: Uint8Array, page: number, frames: number) {
  if (page >= frames)
    throw new MediaFault('bad_input', `The image has ${frames} frames or pages, and no number ${page + 1}.`)
  const facts = await mapImageErrors(() => sharp(bytes, { ...READ_OPTIONS, page }).metadata())
  if (facts.width * facts.height > MOST_PIXELS) throw tooManyPixels()
  return facts
}

export function tooManyFrames(): MediaFault {
  const advice = 'Write it as PNG to keep only the first frame, or make it smaller first.'
  return new MediaFault(
    'too_large',
    `The frames of the image have more than ${formatMostPixels()} pixels together. ${advice}`,
  )
}

function formatMostPixels(): string {
  return `${(MOST_PIXELS / 1_000_000).toLocaleString('en')} million`
}

export function tooManyPixels(): MediaFault {
  return new MediaFault('too_large', `The image would have more than ${formatMostPixels()} pixels.`)
}

/** Without a requested format: the format of the image if it is writable, else PNG. */
export function chooseFormat(asked: unknown, { format }: Pick<OpenedImage, 'format'>): ImageFormat {
  const name = asked === null || asked === undefined ? format : asked
  return (WRITABLE_FORMATS.has(name as string) ? name : 'png') as ImageFormat
}

export interface ImageWriteOptions {
  readonly format: ImageFormat
  /** From 1 to 100, for lossy formats; null: the default of the format. */
  readonly quality: number | null
}

/** Writes the image as a file and gives its size. Metadata of the original is dropped. */
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

/** Converts errors of the library to MediaFaults. */
export async function mapImageErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MediaFault) throw error
    throw toMediaFault(error as Error)
  }
}

/** The longest sides that formats allow, in pixels. */
const LONGEST_SIDES = 'WebP allows 16,383 pixels a side, AVIF 16,384, JPEG 65,500 and GIF 65,535'

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
      'The file is no image of a supported kind: PNG, JPEG, WebP, AVIF, GIF, TIFF, SVG.',
      cause,
    )
  if (/empty/i.test(message)) return new MediaFault('bad_file', 'The image is empty.', cause)
  const what = 'The image cannot be read completely: it is damaged, or uses an unsupported variant of its format.'
  return new MediaFault('bad_file', what, cause)
}
