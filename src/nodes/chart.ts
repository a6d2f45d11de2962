// chart.*: pictures of tables. The work is done apart, by the tasks of the same names in src/media; columns go there by what they are for.
import { type NodeContext, NodeError, type NodeProperty, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import type { Steps } from '../time-slices.ts'
import { option, output, required } from './define.ts'
import { worked } from './files.ts'
import { imageValue, type MadeImage } from './image.ts'
import { cell, guardColumnSteps, type Row, readRows, rowsProperty } from './rows.ts'

/** More than can be told apart; each is a shape in the picture. */
const MOST_ROWS = 50_000

const LOOK: NodeProperty[] = [
  option('title', 'str', 'What stands above the chart.', { default: '' }),
  option('width', 'int', 'In pixels.', { default: 640, min: 100, max: 8_000 }),
  option('height', 'int', 'In pixels.', { default: 400, min: 100, max: 8_000 }),
  option('format', oneOf('png', 'svg'), 'PNG has pixels, SVG can be made larger without loss.', { default: 'png' }),
  option('scale', 'int', 'How many pixels a PNG has for each one of width and height: 2 for sharp prints.', {
    default: 1,
    min: 1,
    max: 4,
  }),
]

const column = (name: string, what: string) => required(name, 'str', `The column of ${what}.`)
const colour = option(
  'colour',
  'str?',
  'The column that tells series apart, each in a colour of its own. Null: one series.',
)
const axis = (name: string, of: string) =>
  option(name, 'str?', `What stands at ${of}. Null: the name of its column; an empty text: nothing.`)
const AXES = [axis('x_title', 'the axis along'), axis('y_title', 'the axis upwards')]
const X_KIND = option(
  'x_kind',
  oneOf('auto', 'number', 'time', 'category'),
  'How x is read: as numbers, as times (ISO 8601; without a zone in UTC) or as names. auto: as what all of them are.',
  { default: 'auto' },
)

/** The columns of a chart by their roles, and the properties that name them. */
type Roles = Readonly<Record<string, string>>

interface Chart {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly roles: Roles
  readonly properties: NodeProperty[]
}

function chart({ name, title, description, roles, properties }: Chart): NodeType {
  return {
    node_type: `chart.${name}`,
    title,
    description: `${description} Rows that lack a value are left out.`,
    properties: [rowsProperty(), ...properties, ...LOOK],
    outputs: [output('image', 'image'), output('width', 'int'), output('height', 'int')],
    async run({ rows, ...asked }, context) {
      const shown = await context.inSlices(shownSteps(readRows(rows as unknown[]), roles, asked))
      return drawn(`chart.${name.toLowerCase()}`, { ...asked, ...shown }, context)
    },
  }
}

interface Shown {
  readonly columns: Readonly<Record<string, unknown>>
  readonly titles: Readonly<Record<string, string | null>>
}

/** Throws NodeError `too_large`, `unknown_column`. */
function* shownSteps(rows: Row[], roles: Roles, asked: Record<string, unknown>): Steps<Shown> {
  if (rows.length > MOST_ROWS)
    throw new NodeError(`A chart has at most ${MOST_ROWS.toLocaleString('en')} rows.`, 'too_large')
  const named = Object.entries(roles).filter(([, property]) => typeof asked[property] === 'string')
  yield* guardColumnSteps(
    rows,
    named.map(([, property]) => asked[property] as string),
  )
  const columns = named.map(([role, property]) => {
    const name = asked[property] as string
    return [role, { name, cells: rows.map((row) => plain(cell(row, name))) }]
  })
  return { columns: Object.fromEntries(columns), titles: titlesOf(named, asked) }
}

/** What no chart shows need not be copied: that it is something is enough to refuse it. */
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? {} : value
}

function titlesOf(named: [string, string][], asked: Record<string, unknown>): Record<string, string | null> {
  const titles: Record<string, string | null> = { y: null }
  for (const [role, property] of named) titles[role] = asked[property] as string
  for (const role of ['x', 'y', 'colour']) {
    const own = asked[`${role}_title`]
    if (typeof own === 'string') titles[role] = own === '' ? null : own
  }
  return titles
}

async function drawn(task: string, params: Record<string, unknown>, context: NodeContext) {
  const { files, value } = await worked(task, [], params, context)
  const made = value as MadeImage
  return { image: imageValue(files[0]!, made, 'chart'), width: made.width, height: made.height }
}

export const chartNodes: NodeType[] = [
  chart({
    name: 'Bar',
    title: 'Bar chart',
    description: 'Draws bars: one for each name in a column, as long as the values of another one together.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [
      column('x', 'names'),
      option('y', 'str?', 'The column of numbers. Null: the rows of each name are counted.'),
      colour,
      option('together', oneOf('sum', 'mean', 'min', 'max'), 'What is drawn of several rows with one name.', {
        default: 'sum',
      }),
      option('layout', oneOf('stacked', 'grouped'), 'How the bars of several series stand.', { default: 'stacked' }),
      option('horizontal', 'bool', 'Draws the bars from left to right. The titles of the axes go with them.', {
        default: false,
      }),
      ...AXES,
    ],
  }),
  chart({
    name: 'Line',
    title: 'Line chart',
    description: 'Draws lines through points, from the lowest x to the highest.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [
      column('x', 'what runs along: numbers, times or names'),
      column('y', 'numbers'),
      colour,
      X_KIND,
      option('points', 'bool', 'Draws the points as well.', { default: false }),
      ...AXES,
    ],
  }),
  chart({
    name: 'Scatter',
    title: 'Scatter plot',
    description: 'Draws a point for each row.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [column('x', 'numbers, times or names'), column('y', 'numbers'), colour, X_KIND, ...AXES],
  }),
  chart({
    name: 'Histogram',
    title: 'Histogram',
    description: 'Draws how many numbers of a column lie in each of some ranges of the same size.',
    roles: { x: 'x', colour: 'colour' },
    properties: [
      column('x', 'numbers'),
      colour,
      option('bins', 'int', 'As many ranges at most, at round numbers.', { default: 10, min: 1, max: 200 }),
      ...AXES,
    ],
  }),
  chart({
    name: 'Pie',
    title: 'Pie chart',
    description: 'Draws shares of a whole, the first at noon, then clockwise. Those of one name are one slice.',
    roles: { colour: 'names', y: 'values' },
    properties: [
      column('names', 'names'),
      column('values', 'numbers, none below zero'),
      option('hole', 'float', 'Leaves so much of the middle empty: 0 for a pie, 0.5 for a ring.', {
        default: 0,
        min: 0,
        max: 0.9,
      }),
    ],
  }),
]
