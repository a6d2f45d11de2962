// What is known of a picture: its size and kind, what its camera wrote, how its brightness is spread.
import sharp from 'sharp'
import type { Made, Tasks } from '../serving.ts'
import { exifOf } from './image-exif.ts'
import { extensionOf, formatOf, judged, MOST_PIXELS, opened, written } from './image-read.ts'
import { type Output, pixelsOf } from './image-shape.ts'

/** As the library calls them, where that is not the name of the type. */
const TYPES: Readonly<Record<string, string>> = { svg: 'svg+xml' }

async function facts([bytes]: readonly Uint8Array[]): Promise<Made> {
  const { width, height, format, frames } = await opened(bytes!)
  const found = await judged(() => sharp(bytes!, { limitInputPixels: MOST_PIXELS }).metadata())
  const value = {
    width,
    height,
    format,
    content_type: `image/${TYPES[format] ?? format}`,
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
    exif: found.exif ? exifOf(found.exif) : {},
  }
  return { value }
}

/** The picture as it is where nothing else is asked for, unless it says more than its pixels do: where it was taken, or by whom. */
async function saved([bytes]: readonly Uint8Array[], params: Readonly<Record<string, unknown>>): Promise<Made> {
  const { format: asked, quality } = params as unknown as Output
  const picture = await opened(bytes!, { into: asked })
  const { format, width, height } = picture
  if (asked !== null || quality !== null || (await saysMore(bytes!)))
    return written(picture.image, { format: formatOf(asked, picture), quality })
  const value = { width, height, content_type: `image/${TYPES[format] ?? format}`, extension: extensionOf(format) }
  return { files: [bytes!], value }
}

async function saysMore(bytes: Uint8Array): Promise<boolean> {
  const found = await judged(() => sharp(bytes, { limitInputPixels: MOST_PIXELS }).metadata())
  const { exif, iptc, xmp, tifftagPhotoshop, comments = [], orientation = 1 } = found
  return [exif, iptc, xmp, tifftagPhotoshop].some(Boolean) || comments.length > 0 || orientation > 1
}

const LEVELS = 256

async function histogram([bytes]: readonly Uint8Array[]): Promise<Made> {
  const { image } = await opened(bytes!)
  const { data, width, height } = await pixelsOf(image)
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

export const factTasks: Tasks = {
  'image.metadata': facts,
  'image.save': saved,
  'image.histogram': histogram,
}
