// What nodes have in common that read tables out of files and write them.
import { measuredSteps } from '../engine/measure.ts'
import type { NodeProperty } from '../engine/node-type.ts'
import { mapStep, type Steps } from '../time-slices.ts'
import { option, required } from './define.ts'
import { renamed } from './files.ts'
import { type Row, rowOf } from './rows.ts'

export const FILE = required(
  'file',
  'any',
  'The file: bytes, a file value, or the address of an asset or a temporary file.',
)

/** The name of a file that is written. */
export function nameProperty(name: string): NodeProperty {
  return option('name', 'str', 'The name of the file; its ending is that of its format.', { default: name })
}

/** A table as a file: its bytes, until they are kept somewhere. */
export function tableFile(data: Uint8Array, content_type: string, name: string, extension: string) {
  return { type: 'dataframe', data, content_type, name: renamed(name, extension) }
}

/** A table as it comes from a task: cells in the order of the columns. */
export interface CellTable {
  readonly columns: string[]
  readonly cells: unknown[][]
}

/** About so many cells are put into rows in one step. */
const SOME_CELLS = 4_096

/** Its rows, measured, in steps. */
export function rowSteps({ columns, cells }: CellTable): Steps<Row[]> {
  const some = Math.ceil(SOME_CELLS / Math.max(1, columns.length))
  return measuredSteps(mapStep(cells, (row) => rowOf(columns, (at) => row[at]), some))
}
