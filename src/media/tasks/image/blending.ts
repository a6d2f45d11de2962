// Blends pixels by the W3C's Compositing and Blending Level 1 (source over, separable modes). libvips is not used for this, since it multiplies by
// alpha before it blends: that gives other colours for layers that are neither opaque nor "over".
import type { Sharp } from 'sharp'
import { type RgbaPixels, readPixels } from './task-helpers.ts'

interface Size {
  readonly width: number
  readonly height: number
}

/** The visible part of a layer: a box of the layer, and the position of the box on the base image. */
export interface VisibleArea {
  readonly box: Size & { readonly left: number; readonly top: number }
  readonly left: number
  readonly top: number
}

/** Null where no part of the layer is visible. */
export function findVisibleArea(base: Size, layer: Size, left: number, top: number): VisibleArea | null {
  const [fromX, fromY] = [Math.max(0, -left), Math.max(0, -top)]
  const width = Math.min(layer.width - fromX, base.width - Math.max(0, left))
  const height = Math.min(layer.height - fromY, base.height - Math.max(0, top))
  if (width < 1 || height < 1) return null
  return { box: { left: fromX, top: fromY, width, height }, left: Math.max(0, left), top: Math.max(0, top) }
}

/** Blends a channel of the base (`below`) with one of the layer (`above`), each from 0 to 1. */
type BlendMode = (below: number, above: number) => number

const multiply: BlendMode = (below, above) => below * above
const screen: BlendMode = (below, above) => below + above - below * above
const hardLight: BlendMode = (below, above) =>
  above <= 0.5 ? multiply(below, 2 * above) : screen(below, 2 * above - 1)

function softLight(below: number, above: number): number {
  if (above <= 0.5) return below - (1 - 2 * above) * below * (1 - below)
  const lifted = below <= 0.25 ? ((16 * below - 12) * below + 4) * below : Math.sqrt(below)
  return below + (2 * above - 1) * (lifted - below)
}

const BLEND_MODES = {
  over: (_below, above) => above,
  multiply,
  screen,
  overlay: (below, above) => hardLight(above, below),
  darken: Math.min,
  lighten: Math.max,
  add: (below, above) => Math.min(1, below + above),
  difference: (below, above) => Math.abs(below - above),
  exclusion: (below, above) => below + above - 2 * below * above,
  'hard-light': hardLight,
  'soft-light': softLight,
  'color-dodge': (below, above) => (below === 0 ? 0 : above === 1 ? 1 : Math.min(1, below / (1 - above))),
  'color-burn': (below, above) => (below === 1 ? 1 : above === 0 ? 0 : 1 - Math.min(1, (1 - below) / above)),
} satisfies Record<string, BlendMode>

export interface BlendOptions {
  /** From 0 to 1. */
  readonly opacity: number
  readonly blend: keyof typeof BLEND_MODES
}

/** Blends the visible part of an image into the base, which changes. */
export async function blendImage(base: RgbaPixels, image: Sharp, seen: VisibleArea, as: BlendOptions): Promise<void> {
  blendPixels(base, await readPixels(image.extract(seen.box)), seen, as)
}

/** Blends a whole layer, which must fit into the base. */
export function blendPixels(
  base: RgbaPixels,
  layer: RgbaPixels,
  { left, top }: Pick<VisibleArea, 'left' | 'top'>,
  as: BlendOptions,
): void {
  const mode = BLEND_MODES[as.blend]
  for (let y = 0; y < layer.height; y++) {
    let at = ((top + y) * base.width + left) * 4
    let from = y * layer.width * 4
    for (let x = 0; x < layer.width; x++, at += 4, from += 4)
      blendPixel(base.data, at, layer.data, from, as.opacity, mode)
  }
}

function blendPixel(base: Buffer, at: number, layer: Buffer, from: number, opacity: number, mode: BlendMode): void {
  const above = (layer[from + 3]! / 255) * opacity
  if (above === 0) return
  const below = base[at + 3]! / 255
  const alpha = above + below * (1 - above)
  for (let channel = 0; channel < 3; channel++) {
    const [under, upper] = [base[at + channel]! / 255, layer[from + channel]! / 255]
    const blended = (1 - below) * upper + below * mode(under, upper)
    base[at + channel] = Math.round(((above * blended + (1 - above) * below * under) / alpha) * 255)
  }
  base[at + 3] = Math.round(alpha * 255)
}
