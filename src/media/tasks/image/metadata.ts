// The tasks for the facts of an image: its size and format, its EXIF tags and its histogram.
import sharp from 'sharp'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { chooseFormat, imageExtensionOf, MOST_PIXELS, mapImageErrors, openImage, writeImage } from './codec.ts'
import { readExif } from './exif.ts'
import { type ImageOutputParams, readPixels } from './task-helpers.ts'

/** Subtypes that differ from the library's name of the format. */
const CONTENT_SUBTYPES: Readonly<Record<string, string>> = { svg: 'svg+xml' }

async function readMetadata([bytes]: readonly Uint8Array[]): Promise<MediaTaskResult> {
  const { width, height, format, frames } = await openImage(bytes!)
  const found = await mapImageErrors(() => sharp(bytes!, { limitInputPixels: MOST_PIXELS }).metadata())
  const value = {
    width,
    height,
    format,
    content_type: `image/${CONTENT_SUBTYPES[format] ?? format}`,
    frames,
    channels: found.channels,
    depth: found.depth,
    colour_space: found.space,
    has_alpha: found.hasAlpha,
    has_profile: found.hasProfile,
    /** Pixels per inch; null where the file does not say. */
    density: found.density ?? null,
    /** From 1 to 8, as in EXIF; width and height are those after the rotation. */
    orientation: found.orientation ?? null,
    exif: found.exif ? readExif(found.exif) : {},
  }
  return { value }
}

/** Gives the original bytes where no other format or quality is requested, unless they contain metadata, such as the location or the author. */
async function saveImage(
  [bytes]: readonly Uint8Array[],
  params: Readonly<Record<string, unknown>>,
): Promise<MediaTaskResult> {
  const { format: asked, quality } = params as unknown as ImageOutputParams
  const opened = await openImage(bytes!, { into: asked })
  const { format, width, height } = opened
  if (asked !== null || quality !== null || (await hasMetadata(bytes!)))
    return writeImage(opened.image, { format: chooseFormat(asked, opened), quality })
  const value = {
    width,
    height,
    content_type: `image/${CONTENT_SUBTYPES[format] ?? format}`,
    extension: imageExtensionOf(format),
  }
  return { files: [bytes!], value }
}

async function hasMetadata(bytes: Uint8Array): Promise<boolean> {
  const found = await mapImageErrors(() => sharp(bytes, { limitInputPixels: MOST_PIXELS }).metadata())
  const { exif, iptc, xmp, tifftagPhotoshop, comments = [], orientation = 1 } = found
  return [exif, iptc, xmp, tifftagPhotoshop].some(Boolean) || comments.length > 0 || orientation > 1
}

const LEVELS = 256

async function computeHistogram([bytes]: readonly Uint8Array[]): Promise<MediaTaskResult> {
  const { image } = await openImage(bytes!)
  const { data, width, height } = await readPixels(image)
  const counts = Array.from({ length: 5 }, () => new Uint32Array(LEVELS))
  const [red, green, blue, alpha, luminance] = counts as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ]
  for (let at = 0; at < data.length; at += 4) {
    const [r, g, b] = [data[at]!, data[at + 1]!, data[at + 2]!]
    red[r]!++
    green[g]!++
    blue[b]!++
    alpha[data[at + 3]!]!++
    // Rec. 709, in integers.
    luminance[Math.floor((2126 * r + 7152 * g + 722 * b + 5000) / 10_000)]!++
  }
  const lists = Object.fromEntries(
    Object.entries({ red, green, blue, alpha, luminance }).map(([name, levels]) => [name, [...levels]]),
  )
  return { value: { ...lists, pixels: width * height } }
}

export const metadataTasks: MediaTaskHandlers = {
  'image.metadata': readMetadata,
  'image.save': saveImage,
  'image.histogram': computeHistogram,
}
