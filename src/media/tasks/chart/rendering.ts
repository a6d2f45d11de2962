// Renders a chart: vega-lite compiles it, vega makes an SVG, and sharp makes a PNG.
import sharp from 'sharp'
import * as vega from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { MediaTaskResult } from '../../task-runner.ts'
import { MOST_PIXELS, mapImageErrors, writeImage } from '../image/codec.ts'
import { guardImageSize } from '../image/task-helpers.ts'
import { removeControlCharacters } from '../image/text-rendering.ts'
import { CHART_FONT, LABEL_SIZE, measureText } from './font-metrics.ts'

export interface ChartOptions {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly format: 'png' | 'svg'
  /** PNG pixels for each unit of width and height. */
  readonly scale: number
}

/** The specific part of a chart's specification. */
export type VegaSpec = Record<string, unknown>

type TextWidthFunction = (item: { fontSize?: number; fontWeight?: unknown; limit?: number }, text: unknown) => number
// The types lack `textMetrics`. Without a canvas vega takes each letter for 0.8 of its height. A text beyond its limit is shortened to the limit.
const { textMetrics } = vega as unknown as { textMetrics: { width: TextWidthFunction } }
textMetrics.width = ({ fontSize = 11, fontWeight, limit = 0 }, text) => {
  const width = measureText(String(text ?? ''), fontSize, fontWeight === 'bold')
  return limit > 0 ? Math.min(limit, width) : width
}

/** Refuses to load any file or URL: charts have inline data. */
const LOADER = {
  load: refuseLoading,
  sanitize: refuseLoading,
  http: refuseLoading,
  file: refuseLoading,
} as unknown as vega.Loader

async function refuseLoading(): Promise<never> {
  throw new Error('a chart asked for a file')
}

/** Warnings of the libraries are about the user's data and do not help, so they are dropped. */
const SILENT_LOGGER = vega.logger(vega.None)

/** In pixels: the height of a legend's entry, and of its title. */
const LEGEND_ENTRY_HEIGHT = 18
const LEGEND_HEAD_HEIGHT = 24

/** Limits labels and titles to a share of the image, so that the chart itself always has room. */
function createConfig({ width, height }: ChartOptions) {
  const beside = Math.min(160, width / 4)
  const entries = Math.max(2, Math.floor((height - LEGEND_HEAD_HEIGHT) / LEGEND_ENTRY_HEIGHT) - 1)
  return {
    font: CHART_FONT,
    // Descriptions for screen readers would repeat every value.
    aria: false,
    axis: { labelFontSize: LABEL_SIZE, labelLimit: width * 0.4 },
    axisX: { titleLimit: width * 0.45, maxExtent: height },
    axisY: { titleLimit: height * 0.35, maxExtent: width },
    legend: { labelLimit: beside, titleLimit: beside, symbolLimit: Math.min(40, entries) },
  }
}

export async function renderChart(drawing: VegaSpec, look: ChartOptions): Promise<MediaTaskResult> {
  const { title, width, height, format, scale } = look
  guardImageSize(width * scale, height * scale)
  const spec = {
    ...drawing,
    ...(title === '' ? {} : { title: { text: removeControlCharacters(title), frame: 'bounds', limit: width * 0.95 } }),
    width,
    height,
    autosize: { type: 'fit', contains: 'padding' },
    background: '#ffffff',
    config: createConfig(look),
  }
  const svg = await renderSvg(spec as unknown as TopLevelSpec)
  if (format === 'png') return renderPng(svg, scale)
  return { files: [svg], value: { width, height, content_type: 'image/svg+xml', extension: 'svg' } }
}

async function renderSvg(spec: TopLevelSpec): Promise<Uint8Array> {
  // Otherwise the ids of SVG parts continue from chart to chart.
  vega.resetSVGDefIds()
  const runtime = vega.parse(compile(spec, { logger: SILENT_LOGGER }).spec)
  const view = new vega.View(runtime, { renderer: 'none', loader: LOADER, logger: SILENT_LOGGER })
  try {
    return new TextEncoder().encode(await view.toSVG())
  } finally {
    view.finalize()
  }
}

/** The library counts 72 points of an SVG per inch. */
const POINTS = 72

function renderPng(svg: Uint8Array, scale: number): Promise<MediaTaskResult> {
  const options = { density: POINTS * scale, limitInputPixels: MOST_PIXELS }
  return mapImageErrors(() => writeImage(sharp(svg, options).removeAlpha(), { format: 'png', quality: null }))
}
