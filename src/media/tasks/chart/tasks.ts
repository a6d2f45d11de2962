// The tasks that draw charts, with the specification of each kind. Columns are read in column-values.ts, axes are made in axes.ts, and charts are
// rendered in rendering.ts.
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import { type ChartParams, createChannel, createCountChannel } from './axes.ts'
import { type ChartValues, type ColumnKindChoice, readChartColumns } from './column-values.ts'
import { renderChart, type VegaSpec } from './rendering.ts'

function createColourChannel(read: ChartValues, asked: ChartParams): VegaSpec {
  return read.kinds.colour ? { color: createChannel('colour', read, asked) } : {}
}

/** Each point is a separate shape, and drawing takes time while the user waits. */
const MOST_SHAPES = 20_000

function guardShapes({ values }: ChartValues): void {
  if (values.length <= MOST_SHAPES) return
  const most = MOST_SHAPES.toLocaleString('en')
  throw new MediaFault('too_large', `A chart has at most ${most} points; a line chart without points may have more.`)
}

/** Makes a task from the kinds of its columns and the function for its specification. */
function createChartTask<More>(
  kindChoices: (asked: ChartParams & More) => Record<string, ColumnKindChoice>,
  createSpec: (read: ChartValues, asked: ChartParams & More) => VegaSpec,
) {
  return async (_files: readonly Uint8Array[], params: Readonly<Record<string, unknown>>): Promise<MediaTaskResult> => {
    const asked = params as unknown as ChartParams & More
    const read = readChartColumns(asked.columns, kindChoices(asked))
    return renderChart({ data: { values: read.values }, ...createSpec(read, asked) }, asked)
  }
}

interface BarParams {
  readonly together: 'sum' | 'mean' | 'min' | 'max'
  readonly layout: 'stacked' | 'grouped'
  readonly horizontal: boolean
}

function createBarSpec(read: ChartValues, asked: ChartParams & BarParams): VegaSpec {
  const [across, along] = asked.horizontal ? ['y', 'x'] : ['x', 'y']
  const grouped = read.kinds.colour !== undefined && asked.layout === 'grouped'
  const length =
    read.kinds.y === undefined
      ? createCountChannel(asked)
      : createChannel('y', read, asked, { aggregate: asked.together })
  const { data, order } = stackSeries(read, asked.horizontal)
  return {
    data,
    mark: 'bar',
    encoding: {
      [across!]: createChannel('x', read, asked),
      [along!]: { ...length, ...(grouped ? { stack: null } : {}) },
      ...(grouped ? { [`${across}Offset`]: { field: 'colour', sort: null } } : order),
      ...createColourChannel(read, asked),
    },
  }
}

/** Orders stacked series like the names in the legend: the first on top, or on the left of a horizontal chart. */
function stackSeries({ values, kinds }: ChartValues, horizontal: boolean) {
  if (kinds.colour === undefined) return { data: { values }, order: {} }
  const ranks = new Map([...new Set(values.map(({ colour }) => colour))].map((name, rank) => [name, rank]))
  const ranked = values.map((row) => ({ ...row, rank: ranks.get(row.colour!) }))
  const sort = horizontal ? 'ascending' : 'descending'
  return { data: { values: ranked }, order: { order: { field: 'rank', type: 'quantitative', sort } } }
}

interface LineParams {
  readonly x_kind: ColumnKindChoice
  readonly points: boolean
}

function createLineSpec(read: ChartValues, asked: ChartParams & LineParams): VegaSpec {
  if (asked.points) guardShapes(read)
  return {
    mark: { type: 'line', point: asked.points || hasLonelyPoint(read) },
    encoding: {
      x: createChannel('x', read, asked),
      y: createChannel('y', read, asked),
      ...createColourChannel(read, asked),
    },
  }
}

/** Whether a line has a single point, which would be invisible without a point mark. */
function hasLonelyPoint({ values }: ChartValues): boolean {
  if (values.length > MOST_SHAPES) return false
  const sizes = new Map<unknown, number>()
  for (const { colour } of values) sizes.set(colour, (sizes.get(colour) ?? 0) + 1)
  return [...sizes.values()].includes(1)
}

/** Axes begin near the first point. `fillOpacity` is used, since `opacity` would cost sharp a layer for each point. */
function createScatterSpec(read: ChartValues, asked: ChartParams): VegaSpec {
  guardShapes(read)
  const near = (role: string) =>
    createChannel(role, read, asked, {
      scale: { zero: false, padding: 10, ...(read.kinds[role] === 'time' ? { type: 'utc' } : {}) },
    })
  const x = read.kinds.x === 'category' ? createChannel('x', read, asked) : near('x')
  return {
    mark: { type: 'point', filled: true, size: 40, opacity: 1, fillOpacity: 0.8 },
    encoding: { x, y: near('y'), ...createColourChannel(read, asked) },
  }
}

function createHistogramSpec(read: ChartValues, asked: ChartParams & { bins: number }): VegaSpec {
  const { data, order } = stackSeries(read, false)
  return {
    data,
    mark: 'bar',
    encoding: {
      x: createChannel('x', read, asked, { bin: { maxbins: asked.bins } }),
      y: createCountChannel(asked),
      ...order,
      ...createColourChannel(read, asked),
    },
  }
}

/** Shares with the same name form one slice. Slices begin at the top and go clockwise. */
function createPieSpec(read: ChartValues, asked: ChartParams & { hole: number }): VegaSpec {
  const sums = new Map<string, number>()
  for (const { colour, y } of read.values) {
    if ((y as number) < 0) throw new MediaFault('bad_input', 'A share of the pie is negative.')
    sums.set(colour as string, (sums.get(colour as string) ?? 0) + (y as number))
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0)
  if (!(total > 0) || !Number.isFinite(total))
    throw new MediaFault('bad_input', 'The shares of the pie must sum up to a positive, finite number.')
  const values = [...sums].map(([colour, y], order) => ({ colour, y, order }))
  return {
    data: { values },
    mark: { type: 'arc', innerRadius: { expr: `min(width, height) / 2 * ${Number(asked.hole)}` }, stroke: '#ffffff' },
    encoding: {
      theta: { field: 'y', type: 'quantitative', stack: true },
      order: { field: 'order', type: 'quantitative' },
      color: createChannel('colour', read, asked),
    },
  }
}

export const chartTasks: MediaTaskHandlers = {
  'chart.bar': createChartTask<BarParams>(() => ({ x: 'category', y: 'number', colour: 'category' }), createBarSpec),
  'chart.line': createChartTask<LineParams>(
    ({ x_kind }) => ({ x: x_kind, y: 'number', colour: 'category' }),
    createLineSpec,
  ),
  'chart.scatter': createChartTask<LineParams>(
    ({ x_kind }) => ({ x: x_kind, y: 'number', colour: 'category' }),
    createScatterSpec,
  ),
  'chart.histogram': createChartTask<{ bins: number }>(
    () => ({ x: 'number', colour: 'category' }),
    createHistogramSpec,
  ),
  'chart.pie': createChartTask<{ hole: number }>(() => ({ y: 'number', colour: 'category' }), createPieSpec),
}
