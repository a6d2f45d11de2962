// data.Query: SQL over tables. The task of the same name in src/media does the work in a worker.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { parseType } from '../../engine/node-api/values/type-metadata.ts'
import { runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { type CellTable, createRowsInSteps } from '../shared/table-files.ts'
import { type TableRow, validateRows } from '../shared/table-rows.ts'
import { guardListLength } from '../shared/value-limits.ts'

type QueryInputs = {
  sql: string
  tables: Record<string, TableRow[]>
  columns: Record<string, string[]>
  params: unknown
  max_rows: number
}

const MOST_TABLES = 50

function readTables(given: Record<string, unknown>): [string, TableRow[]][] {
  const tables = Object.entries(given)
  guardListLength(tables.length > MOST_TABLES ? Number.POSITIVE_INFINITY : 0, 'There are', 'tables')
  return tables.map(([name, rows]) => {
    if (!Array.isArray(rows)) throw new NodeError(`The table ${name} is not a list of rows.`, 'bad_input')
    return [name, validateRows(rows)]
  })
}

function readParams(params: unknown): unknown {
  if (params === null || params === undefined) return []
  if (typeof params === 'object') return params
  throw new NodeError('The parameters are neither a list nor an object.', 'bad_input')
}

export const sqlQueryNodes: NodeType[] = [
  {
    node_type: 'data.Query',
    title: 'Query tables',
    description:
      'Runs one SQL statement that reads (SELECT, WITH or VALUES, in the SQL of SQLite) over tables, which are the dynamic inputs by name. In SQL, true and false are 1 and 0, missing values are NULL, and lists and objects are JSON. Whole numbers beyond 2^53 come back as the text of their digits. Without ORDER BY the order is undefined. SQL has no current time and no random numbers.',
    properties: [
      requiredProperty(
        'sql',
        'str',
        'The statement, such as `SELECT city, sum(price) AS total FROM orders GROUP BY city`.',
      ),
      optionalProperty('tables', 'dict[str,list[dict[str,any]]]', 'More tables: name → rows.', { default: {} }),
      optionalProperty('columns', 'dict[str,list[str]]', 'Table → columns that it always has, even without rows.', {
        default: {},
      }),
      optionalProperty(
        'params',
        'any',
        'Values for the placeholders of the statement: a list for ? or ?1, or an object for :name.',
      ),
      optionalProperty('max_rows', 'int', 'The node fails if the result has more rows.', {
        default: 100_000,
        min: 1,
        max: 1_000_000,
      }),
    ],
    outputs: [valueOutput('rows', 'list[dict[str,any]]'), valueOutput('columns', 'list[str]')],
    supports_dynamic_inputs: true,
    dynamic_input_type: parseType('list[dict[str,any]]'),
    async run(inputs, context) {
      const { sql, tables, columns, params, max_rows, ...dynamic } = inputs as QueryInputs & Record<string, unknown>
      const twice = Object.keys(dynamic).find((name) => Object.hasOwn(tables, name))
      if (twice !== undefined) throw new NodeError(`There are two tables ${twice}.`, 'bad_input')
      const asked = { sql, columns, params: readParams(params), most_rows: max_rows }
      const all = { ...asked, tables: readTables({ ...tables, ...dynamic }) }
      const { value } = await runMediaTask('data.query', [], all, context)
      const table = value as CellTable
      return { rows: await context.inSlices(createRowsInSteps(table)), columns: table.columns }
    },
  },
]
