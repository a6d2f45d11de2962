// Checks the schema of a Parquet file.
import type { SchemaElement } from 'hyparquet'
import { MediaFault } from '../../../fault.ts'
import { DEEPEST_CELL, formatCount, MOST_TASK_COLUMNS } from '../table-limits.ts'
import { damagedParquet } from './pages.ts'

/** @throws MediaFault `bad_file` where the columns make no tree; `unsupported`, `too_large` */
export function guardParquetSchema(schema: readonly SchemaElement[]): void {
  if (schema.length > MOST_TASK_COLUMNS * 3)
    throw new MediaFault('too_large', `The table has more than ${formatCount(MOST_TASK_COLUMNS)} columns.`)
  if (guardBranch(schema, 0, 0) !== schema.length) throw damagedParquet()
}

/** Gives the end of the branch that begins at `at`. */
function guardBranch(schema: readonly SchemaElement[], at: number, depth: number): number {
  const element = schema[at]
  if (!element || typeof element.name !== 'string') throw damagedParquet()
  if (depth > DEEPEST_CELL) throw new MediaFault('too_large', 'The columns are nested too deep.')
  if (element.logical_type?.type === 'VARIANT')
    throw new MediaFault('unsupported', `The column ${element.name} is of the type VARIANT, which is not supported.`)
  const children = element.num_children ?? 0
  if (at > 0 && !element.type && children < 1) throw damagedParquet()
  if (element.type && children > 0) throw damagedParquet()
  const names = new Set<string>()
  let next = at + 1
  for (let child = 0; child < children; child++) {
    const name = schema[next]?.name ?? ''
    if (names.has(name) || (depth > 0 && name === '__proto__')) throw damagedParquet()
    names.add(name)
    next = guardBranch(schema, next, depth + 1)
  }
  return next
}
