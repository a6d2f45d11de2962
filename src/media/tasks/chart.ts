// Tasks that draw charts: what each says of its columns. How they are read is in chart-data.ts, what is written beside them in
// chart-axes.ts, how they are drawn in chart-draw.ts.
import { MediaFault } from '../fault.ts'
import type { Made, Tasks } from '../serving.ts'
import { type Asked, channel, counts } from './chart-axes.ts'
import { type Read, readColumns, type Taken } from './chart-data.ts'
import { type Drawing, draw } from './chart-draw.ts'

function colours(read: Read, asked: Asked): Drawing {
  return read.kinds.colour ? { color: channel('colour', read, asked) } : {}
}

/** Each is a shape of its own, for whose drawing somebody waits. */
const MOST_SHAPES = 20_000

function guardShapes({ values }: Read): void {
  if (values.length <= MOST_SHAPES) return
  const most = MOST_SHAPES.toLocaleString('en')
  throw new MediaFault('too_large', `A chart has at most ${most} points; a line without them may have more.`)
}

/** A task that reads its columns so and draws them so. */
function charted<More>(
  taken: (asked: Asked & More) => Record<string, Taken>,
  drawing: (read: Read, asked: Asked & More) => Drawing,
) {
  return async (_files: readonly Uint8Array[], params: Readonly<Record<string, unknown>>): Promise<Made> => {
    const asked = params as unknown as Asked & More
    const read = readColumns(asked.columns, taken(asked))
    return draw({ data: { values: read.values }, ...drawing(read, asked) }, asked)
  }
}

interface Bars {
  readonly together: 'sum' | 'mean' | 'min' | 'max'
  readonly layout: 'stacked' | 'grouped'
  readonly horizontal: boolean
}

function bars(read: Read, asked: Asked & Bars): Drawing {
  const [across, along] = asked.horizontal ? ['y', 'x'] : ['x', 'y']
  const grouped = read.kinds.colour !== undefined && asked.layout === 'grouped'
  const length = read.kinds.y === undefined ? counts(asked) : channel('y', read, asked, { aggregate: asked.together })
  const { data, order } = piled(read, asked.horizontal)
  return {
    data,
    mark: 'bar',
    encoding: {
      [across!]: channel('x', read, asked),
      [along!]: { ...length, ...(grouped ? { stack: null } : {}) },
      ...(grouped ? { [`${across}Offset`]: { field: 'colour', sort: null } } : order),
      ...colours(read, asked),
    },
  }
}

/** Series lie upon each other as their names do in the legend, the first on top; and side by side from the left. */
function piled({ values, kinds }: Read, horizontal: boolean) {
  if (kinds.colour === undefined) return { data: { values }, order: {} }
  const ranks = new Map([...new Set(values.map(({ colour }) => colour))].map((name, rank) => [name, rank]))
  const ranked = values.map((row) => ({ ...row, rank: ranks.get(row.colour!) }))
  const sort = horizontal ? 'ascending' : 'descending'
  return { data: { values: ranked }, order: { order: { field: 'rank', type: 'quantitative', sort } } }
}

interface Lines {
  readonly x_kind: Taken
  readonly points: boolean
}

function lines(read: Read, asked: Asked & Lines): Drawing {
  if (asked.points) guardShapes(read)
  return {
    mark: { type: 'line', point: asked.points || isLonely(read) },
    encoding: { x: channel('x', read, asked), y: channel('y', read, asked), ...colours(read, asked) },
  }
}

/** Whether a line has one point alone, of which nothing would be seen. */
function isLonely({ values }: Read): boolean {
  if (values.length > MOST_SHAPES) return false
  const sizes = new Map<unknown, number>()
  for (const { colour } of values) sizes.set(colour, (sizes.get(colour) ?? 0) + 1)
  return [...sizes.values()].includes(1)
}

/** Axes begin near the first point. (An opacity of whole points would cost the library of pictures a layer for each.) */
function points(read: Read, asked: Asked): Drawing {
  guardShapes(read)
  const near = (role: string) =>
    channel(role, read, asked, {
      scale: { zero: false, padding: 10, ...(read.kinds[role] === 'time' ? { type: 'utc' } : {}) },
    })
  const x = read.kinds.x === 'category' ? channel('x', read, asked) : near('x')
  return {
    mark: { type: 'point', filled: true, size: 40, opacity: 1, fillOpacity: 0.8 },
    encoding: { x, y: near('y'), ...colours(read, asked) },
  }
}

function histogram(read: Read, asked: Asked & { bins: number }): Drawing {
  const { data, order } = piled(read, false)
  return {
    data,
    mark: 'bar',
    encoding: {
      x: channel('x', read, asked, { bin: { maxbins: asked.bins } }),
      y: counts(asked),
      ...order,
      ...colours(read, asked),
    },
  }
}

/** Shares of one name are one slice, the first at noon, then clockwise. */
function slices(read: Read, asked: Asked & { hole: number }): Drawing {
  const sums = new Map<string, number>()
  for (const { colour, y } of read.values) {
    if ((y as number) < 0) throw new MediaFault('bad_input', 'A share of a pie is less than nothing.')
    sums.set(colour as string, (sums.get(colour as string) ?? 0) + (y as number))
  }
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0)
  if (!(total > 0) || !Number.isFinite(total))
    throw new MediaFault('bad_input', 'The shares of a pie sum up to nothing that can be drawn.')
  const values = [...sums].map(([colour, y], order) => ({ colour, y, order }))
  return {
    data: { values },
    mark: { type: 'arc', innerRadius: { expr: `min(width, height) / 2 * ${Number(asked.hole)}` }, stroke: '#ffffff' },
    encoding: {
      theta: { field: 'y', type: 'quantitative', stack: true },
      order: { field: 'order', type: 'quantitative' },
      color: channel('colour', read, asked),
    },
  }
}

export const chartTasks: Tasks = {
  'chart.bar': charted<Bars>(() => ({ x: 'category', y: 'number', colour: 'category' }), bars),
  'chart.line': charted<Lines>(({ x_kind }) => ({ x: x_kind, y: 'number', colour: 'category' }), lines),
  'chart.scatter': charted<Lines>(({ x_kind }) => ({ x: x_kind, y: 'number', colour: 'category' }), points),
  'chart.histogram': charted<{ bins: number }>(() => ({ x: 'number', colour: 'category' }), histogram),
  'chart.pie': charted<{ hole: number }>(() => ({ y: 'number', colour: 'category' }), slices),
}
