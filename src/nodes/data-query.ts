// data.Query: SQL over tables. The work is done apart, by the task of the same name in src/media.
import { NodeError, type NodeType } from '../engine/node-type.ts'
import { t } from '../engine/types.ts'
import { option, output, required } from './define.ts'
import { worked } from './files.ts'
import { guardList } from './limits.ts'
import { type Row, readRows } from './rows.ts'
import { type CellTable, rowSteps } from './table-files.ts'

type Query = {
  sql: string
  tables: Record<string, Row[]>
  columns: Record<string, string[]>
  params: unknown
  max_rows: number
}

const MOST_TABLES = 50

function tablesOf(given: Record<string, unknown>): [string, Row[]][] {
  const tables = Object.entries(given)
  guardList(tables.length > MOST_TABLES ? Number.POSITIVE_INFINITY : 0, 'There are', 'tables')
  return tables.map(([name, rows]) => {
    if (!Array.isArray(rows)) throw new NodeError(`The table ${name} is no list of rows.`, 'bad_input')
    return [name, readRows(rows)]
  })
}

function paramsOf(params: unknown): unknown {
  if (params === null || params === undefined) return []
  if (typeof params === 'object') return params
  throw new NodeError('The parameters are neither a list nor an object.', 'bad_input')
}

export const dataQueryNodes: NodeType[] = [
  {
    node_type: 'data.Query',
    title: 'Query tables',
    description:
      'Runs one SQL statement that reads (SELECT, WITH or VALUES; the SQL of SQLite) over tables, which are its dynamic inputs by name. Texts, numbers and missing values are such in SQL, true and false are 1 and 0, lists and objects are JSON. Whole numbers beyond 2^53 come back as texts of their digits. Without ORDER BY the order is nobody’s promise; there is no clock, and no chance.',
    properties: [
      required('sql', 'str', 'The statement, such as `SELECT city, sum(price) AS total FROM orders GROUP BY city`.'),
      option('tables', 'dict[str,list[dict[str,any]]]', 'More tables: name → rows.', { default: {} }),
      option('columns', 'dict[str,list[str]]', 'Table → columns that it has in any case, even without rows.', {
        default: {},
      }),
      option('params', 'any', 'Values for ? or ?1 in the statement, as a list, or for :name, as an object.'),
      option('max_rows', 'int', 'More rows than this are an error.', { default: 100_000, min: 1, max: 1_000_000 }),
    ],
    outputs: [output('rows', 'list[dict[str,any]]'), output('columns', 'list[str]')],
    supports_dynamic_inputs: true,
    dynamic_input_type: t('list[dict[str,any]]'),
    async run(inputs, context) {
      const { sql, tables, columns, params, max_rows, ...dynamic } = inputs as Query & Record<string, unknown>
      const twice = Object.keys(dynamic).find((name) => Object.hasOwn(tables, name))
      if (twice !== undefined) throw new NodeError(`There are two tables ${twice}.`, 'bad_input')
      const asked = { sql, columns, params: paramsOf(params), most_rows: max_rows }
      const all = { ...asked, tables: tablesOf({ ...tables, ...dynamic }) }
      const { value } = await worked('data.query', [], all, context)
      const table = value as CellTable
      return { rows: await context.inSlices(rowSteps(table)), columns: table.columns }
    },
  },
]
