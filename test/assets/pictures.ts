// Builds image files for tests from their bytes, and compares pixels.
import sharp, { type Sharp } from 'sharp'

const RED = [255, 0, 0]
const BLUE = [0, 0, 255]

/** Left half red, right half blue. */
export function flag(width: number, height: number): Sharp {
  const pixels = Buffer.alloc(width * height * 3)
  for (let at = 0; at < width * height; at++) pixels.set(at % width < width / 2 ? RED : BLUE, at * 3)
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

export function blank(width: number, height: number): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#000000' } })
    .png()
    .toBuffer()
}

export interface Pixels {
  readonly format: string | undefined
  readonly width: number
  readonly height: number
  /** Whether the file contains more than pixels. */
  readonly tagged: boolean
  /** Red, green, blue and alpha of each pixel, row by row. */
  readonly data: Uint8Array
}

export async function pixelsOf(file: Uint8Array): Promise<Pixels> {
  const { format, exif, icc, xmp } = await sharp(file).metadata()
  const { data, info } = await sharp(file).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  return { format, width: info.width, height: info.height, tagged: Boolean(exif ?? icc ?? xmp), data }
}

/**
 * Returns the largest distance of the pixels from those of a golden picture, in levels of one channel. Pixels of edges, for which the
 * golden gives null, may have any colour.
 */
export function distance(
  { data, width, height }: Pixels,
  golden: (x: number, y: number) => readonly number[] | null,
): number {
  let farthest = 0
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (const [channel, level] of (golden(x, y) ?? []).entries())
        farthest = Math.max(farthest, Math.abs(data[(y * width + x) * 4 + channel]! - level))
  return farthest
}

/** The golden picture of a flag, drawn to another size, with the edge at `width / 2`. */
export function flagged(width: number): (x: number) => readonly number[] | null {
  return (x) => (Math.abs(x + 0.5 - width / 2) < 4 ? null : [...(x < width / 2 ? RED : BLUE), 255])
}
