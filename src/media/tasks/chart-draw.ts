// A chart as a picture: vega-lite compiles it, vega lays it out as SVG, and the library of pictures makes pixels of it.
import sharp from 'sharp'
import * as vega from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Made } from '../serving.ts'
import { FONT, LABEL_SIZE, widthOf } from './chart-letters.ts'
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

type Width = (item: { fontSize?: number; fontWeight?: unknown; limit?: number }, text: unknown) => number
// Types do not name it. Without a canvas all letters would be 0.8 of their height wide. What is longer than its limit is shortened to it.
const { textMetrics } = vega as unknown as { textMetrics: { width: Width } }
textMetrics.width = ({ fontSize = 11, fontWeight, limit = 0 }, text) => {
  const width = widthOf(String(text ?? ''), fontSize, fontWeight === 'bold')
  return limit > 0 ? Math.min(limit, width) : width
}

/** Nothing is read from anywhere: data are given, and no address means anything. */
const LOADER = { load: refuse, sanitize: refuse, http: refuse, file: refuse } as unknown as vega.Loader

async function refuse(): Promise<never> {
  throw new Error('a chart asked for a file')
}

/** What the libraries remark on goes nowhere: it would be about what is drawn, not about whether it is right. */
const QUIET = vega.logger(vega.None)

/** In pixels, from one entry of a legend to the next, and of what stands above the first. */
const ENTRY = 18
const LEGEND_HEAD = 24

/** What is written takes its part of the picture, and is shortened beyond it: the chart itself is never without room. */
function configOf({ width, height }: Look) {
  const beside = Math.min(160, width / 4)
  const entries = Math.max(2, Math.floor((height - LEGEND_HEAD) / ENTRY) - 1)
  return {
    font: FONT,
    // Descriptions for readers of the picture repeat every value of it.
    aria: false,
    axis: { labelFontSize: LABEL_SIZE, labelLimit: width * 0.4 },
    axisX: { titleLimit: width * 0.45, maxExtent: height },
    axisY: { titleLimit: height * 0.35, maxExtent: width },
    legend: { labelLimit: beside, titleLimit: beside, symbolLimit: Math.min(40, entries) },
  }
}

export async function draw(drawing: Drawing, look: Look): Promise<Made> {
  const { title, width, height, format, scale } = look
  within(width * scale, height * scale)
  const spec = {
    ...drawing,
    ...(title === '' ? {} : { title: { text: cleaned(title), frame: 'bounds', limit: width * 0.95 } }),
    width,
    height,
    autosize: { type: 'fit', contains: 'padding' },
    background: '#ffffff',
    config: configOf(look),
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
