// chart.*: pictures of tables. Tasks of the same names in src/media draw them in a worker; columns are sent to them by role.
import type { NodeContext } from '../engine/node-api/node-context.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { NodeProperty, NodeType } from '../engine/node-api/node-type.ts'
import { createEnumType } from '../engine/node-api/values/type-metadata.ts'
import type { Steps } from '../shared/time-slices.ts'
import { type MadeImage, toImageValue } from './image/transform-nodes.ts'
import { runMediaTask } from './shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'
import { guardColumnsInSteps, readCell, rowsProperty, type TableRow, validateRows } from './shared/table-rows.ts'

/** Each row is a shape in the picture, and more shapes cannot be told apart. */
const MOST_ROWS = 50_000

const APPEARANCE_PROPERTIES: NodeProperty[] = [
  optionalProperty('title', 'str', 'The title above the chart.', { default: '' }),
  optionalProperty('width', 'int', 'In pixels.', { default: 640, min: 100, max: 8_000 }),
  optionalProperty('height', 'int', 'In pixels.', { default: 400, min: 100, max: 8_000 }),
  optionalProperty('format', createEnumType('png', 'svg'), 'PNG has pixels, SVG can be made larger without loss.', {
    default: 'png',
  }),
  optionalProperty('scale', 'int', 'Pixels of a PNG for each pixel of width and height. 2 gives sharp prints.', {
    default: 1,
    min: 1,
    max: 4,
  }),
]

const columnProperty = (name: string, what: string) => requiredProperty(name, 'str', `The column of ${what}.`)
const COLOUR_PROPERTY = optionalProperty(
  'colour',
  'str?',
  'The column whose values split the rows into series, each in its own colour. Null: one series.',
)
const axisTitleProperty = (name: string, of: string) =>
  optionalProperty(name, 'str?', `The title of ${of}. Null: the name of its column; an empty text: no title.`)
const AXIS_TITLE_PROPERTIES = [
  axisTitleProperty('x_title', 'the horizontal axis'),
  axisTitleProperty('y_title', 'the vertical axis'),
]
const X_KIND_PROPERTY = optionalProperty(
  'x_kind',
  createEnumType('auto', 'number', 'time', 'category'),
  'How x is read: as numbers, as times (ISO 8601, in UTC if they have no zone) or as names. auto: chosen by the values.',
  { default: 'auto' },
)

/** The columns of a chart by their roles, with the properties that name them. */
type ColumnRoles = Readonly<Record<string, string>>

interface ChartDefinition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly roles: ColumnRoles
  readonly properties: NodeProperty[]
}

function defineChart({ name, title, description, roles, properties }: ChartDefinition): NodeType {
  return {
    node_type: `chart.${name}`,
    title,
    description: `${description} Rows without a value are skipped.`,
    properties: [rowsProperty(), ...properties, ...APPEARANCE_PROPERTIES],
    outputs: [valueOutput('image', 'image'), valueOutput('width', 'int'), valueOutput('height', 'int')],
    async run({ rows, ...asked }, context) {
      const shown = await context.inSlices(chartDataSteps(validateRows(rows as unknown[]), roles, asked))
      return drawChart(`chart.${name.toLowerCase()}`, { ...asked, ...shown }, context)
    },
  }
}

interface ChartData {
  readonly columns: Readonly<Record<string, unknown>>
  readonly titles: Readonly<Record<string, string | null>>
}

/** @throws NodeError `too_large`, `unknown_column` */
function* chartDataSteps(rows: TableRow[], roles: ColumnRoles, asked: Record<string, unknown>): Steps<ChartData> {
  if (rows.length > MOST_ROWS)
    throw new NodeError(`A chart has at most ${MOST_ROWS.toLocaleString('en')} rows.`, 'too_large')
  const named = Object.entries(roles).filter(([, property]) => typeof asked[property] === 'string')
  yield* guardColumnsInSteps(
    rows,
    named.map(([, property]) => asked[property] as string),
  )
  const columns = named.map(([role, property]) => {
    const name = asked[property] as string
    return [role, { name, cells: rows.map((row) => dropNested(readCell(row, name))) }]
  })
  return { columns: Object.fromEntries(columns), titles: resolveTitles(named, asked) }
}

/** No chart shows nested values, so they are not copied: an empty object is enough for the task to refuse them. */
function dropNested(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? {} : value
}

function resolveTitles(named: [string, string][], asked: Record<string, unknown>): Record<string, string | null> {
  const titles: Record<string, string | null> = { y: null }
  for (const [role, property] of named) titles[role] = asked[property] as string
  for (const role of ['x', 'y', 'colour']) {
    const own = asked[`${role}_title`]
    if (typeof own === 'string') titles[role] = own === '' ? null : own
  }
  return titles
}

async function drawChart(task: string, params: Record<string, unknown>, context: NodeContext) {
  const { files, value } = await runMediaTask(task, [], params, context)
  const made = value as MadeImage
  return { image: toImageValue(files[0]!, made, 'chart'), width: made.width, height: made.height }
}

export const chartNodes: NodeType[] = [
  defineChart({
    name: 'Bar',
    title: 'Bar chart',
    description: 'Draws a bar for each name in a column. Its length combines the values of another column.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [
      columnProperty('x', 'names'),
      optionalProperty('y', 'str?', 'The column of numbers. Null: the rows of each name are counted.'),
      COLOUR_PROPERTY,
      optionalProperty(
        'together',
        createEnumType('sum', 'mean', 'min', 'max'),
        'How the values of several rows with the same name are combined.',
        {
          default: 'sum',
        },
      ),
      optionalProperty(
        'layout',
        createEnumType('stacked', 'grouped'),
        'Whether the bars of several series are stacked or stand side by side.',
        {
          default: 'stacked',
        },
      ),
      optionalProperty(
        'horizontal',
        'bool',
        'Draws the bars from left to right. The titles of the axes change places too.',
        {
          default: false,
        },
      ),
      ...AXIS_TITLE_PROPERTIES,
    ],
  }),
  defineChart({
    name: 'Line',
    title: 'Line chart',
    description: 'Draws lines through points, from the lowest x to the highest.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [
      columnProperty('x', 'the x values: numbers, times or names'),
      columnProperty('y', 'numbers'),
      COLOUR_PROPERTY,
      X_KIND_PROPERTY,
      optionalProperty('points', 'bool', 'Draws the points as well.', { default: false }),
      ...AXIS_TITLE_PROPERTIES,
    ],
  }),
  defineChart({
    name: 'Scatter',
    title: 'Scatter plot',
    description: 'Draws a point for each row.',
    roles: { x: 'x', y: 'y', colour: 'colour' },
    properties: [
      columnProperty('x', 'numbers, times or names'),
      columnProperty('y', 'numbers'),
      COLOUR_PROPERTY,
      X_KIND_PROPERTY,
      ...AXIS_TITLE_PROPERTIES,
    ],
  }),
  defineChart({
    name: 'Histogram',
    title: 'Histogram',
    description: 'Draws how many numbers of a column lie in each of several ranges of equal size.',
    roles: { x: 'x', colour: 'colour' },
    properties: [
      columnProperty('x', 'numbers'),
      COLOUR_PROPERTY,
      optionalProperty('bins', 'int', 'The most ranges. Their edges are round numbers.', {
        default: 10,
        min: 1,
        max: 200,
      }),
      ...AXIS_TITLE_PROPERTIES,
    ],
  }),
  defineChart({
    name: 'Pie',
    title: 'Pie chart',
    description: 'Draws shares of a whole clockwise, beginning at the top. Rows with the same name form one slice.',
    roles: { colour: 'names', y: 'values' },
    properties: [
      columnProperty('names', 'names'),
      columnProperty('values', 'numbers, which must not be negative'),
      optionalProperty(
        'hole',
        'float',
        'The share of the radius that stays empty in the middle: 0 for a pie, 0.5 for a ring.',
        {
          default: 0,
          min: 0,
          max: 0.9,
        },
      ),
    ],
  }),
]
