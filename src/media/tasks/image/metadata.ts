// What is known of a picture: its size and kind, what its camera wrote, how its brightness is spread.
import sharp from 'sharp'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { chooseFormat, imageExtensionOf, MOST_PIXELS, mapImageErrors, openImage, writeImage } from './codec.ts'
import { readExif } from './exif.ts'
import { type ImageOutputParams, readPixels } from './task-helpers.ts'

/** As the library calls them, where that is not the name of the type. */
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
    /** Pixels per inch, where the file says so. */
    density: found.density ?? null,
    /** From 1 to 8, as EXIF counts; width and height are those of the picture turned so. */
    orientation: found.orientation ?? null,
    exif: found.exif ? readExif(found.exif) : {},
  }
  return { value }
}

/** The picture as it is where nothing else is asked for, unless it says more than its pixels do: where it was taken, or by whom. */
async function saveImage(
  [bytes]: readonly Uint8Array[],
  params: Readonly<Record<string, unknown>>,
): Promise<MediaTaskResult> {
  const { format: asked, quality } = params as unknown as ImageOutputParams
  const picture = await openImage(bytes!, { into: asked })
  const { format, width, height } = picture
  if (asked !== null || quality !== null || (await hasMetadata(bytes!)))
    return writeImage(picture.image, { format: chooseFormat(asked, picture), quality })
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
    // Rec. 709, in whole numbers.
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
