// A chart as a picture: vega-lite compiles it, vega lays it out as SVG, and the library of pictures makes pixels of it.
import sharp from 'sharp'
import * as vega from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Made } from '../serving.ts'
import { judged, MOST_PIXELS, written } from './image-read.ts'
import { within } from './image-shape.ts'
import { cleaned } from './image-text.ts'

export interface Look {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly format: 'png' | 'svg'
  /** Pixels of a PNG for each of these. */
  readonly scale: number
}

/** A chart without what all have in common. */
export type Drawing = Record<string, unknown>

type Width = (item: { fontSize?: number; fontWeight?: unknown }, text: unknown) => number
// Types do not name it. Without a canvas it counts 0.8 of a letter's height as its width; those of DejaVu Sans are narrower.
const { textMetrics } = vega as unknown as { textMetrics: { width: Width } }
textMetrics.width = (item, text) =>
  String(text ?? '').length * (item.fontSize ?? 11) * (item.fontWeight === 'bold' ? 0.7 : 0.62)

/** Nothing is read from anywhere: data are given, and no address means anything. */
const LOADER = { load: refuse, sanitize: refuse, http: refuse, file: refuse } as unknown as vega.Loader

async function refuse(): Promise<never> {
  throw new Error('a chart asked for a file')
}

/** What the libraries remark on goes nowhere: it would be about what is drawn, not about whether it is right. */
const QUIET = vega.logger(vega.None)

const CONFIG = {
  font: 'DejaVu Sans',
  // Descriptions for readers of the picture repeat every value of it.
  aria: false,
  axis: { labelLimit: 200, titleLimit: 0 },
  legend: { labelLimit: 160, symbolLimit: 40, titleLimit: 160 },
}

export async function draw(drawing: Drawing, { title, width, height, format, scale }: Look): Promise<Made> {
  within(width * scale, height * scale)
  const spec = {
    ...drawing,
    ...(title === '' ? {} : { title: { text: cleaned(title), limit: width } }),
    width,
    height,
    autosize: { type: 'fit', contains: 'padding' },
    background: '#ffffff',
    config: CONFIG,
  }
  const svg = await svgOf(spec as unknown as TopLevelSpec)
  if (format === 'png') return pngOf(svg, scale)
  return { files: [svg], value: { width, height, content_type: 'image/svg+xml', extension: 'svg' } }
}

async function svgOf(spec: TopLevelSpec): Promise<Uint8Array> {
  // Names of parts count on from chart to chart otherwise.
  vega.resetSVGDefIds()
  const runtime = vega.parse(compile(spec, { logger: QUIET }).spec)
  const view = new vega.View(runtime, { renderer: 'none', loader: LOADER, logger: QUIET })
  try {
    return new TextEncoder().encode(await view.toSVG())
  } finally {
    view.finalize()
  }
}

/** Of one inch an SVG has 72 points, as the library counts. */
const POINTS = 72

function pngOf(svg: Uint8Array, scale: number): Promise<Made> {
  const options = { density: POINTS * scale, limitInputPixels: MOST_PIXELS }
  return judged(() => written(sharp(svg, options).removeAlpha(), { format: 'png', quality: null }))
}
