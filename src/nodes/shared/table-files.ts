// The shared parts of nodes that read or write tables as files.

import type { NodeProperty } from '../../engine/node-api/node-type.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import { mapSteps, type Steps } from '../../shared/time-slices.ts'
import { replaceExtension } from './file-inputs.ts'
import { optionalProperty, requiredProperty } from './node-type-builders.ts'
import { createRow, type TableRow } from './table-rows.ts'

export const FILE_PROPERTY = requiredProperty(
  'file',
  'any',
  'The file: bytes, a file value, or the URL of an asset or a temporary file.',
)

/** The name of a written file. */
export function fileNameProperty(name: string): NodeProperty {
  return optionalProperty('name', 'str', 'The name of the file. Its extension is set by the format.', { default: name })
}

/** A table as a file value that holds its bytes until they are stored. */
export function createTableFile(data: Uint8Array, content_type: string, name: string, extension: string) {
  return { type: 'dataframe', data, content_type, name: replaceExtension(name, extension) }
}

/** A table as tasks return it: cells in the order of the columns. */
export interface CellTable {
  readonly columns: string[]
  readonly cells: unknown[][]
}

/** Cells that are put into rows per step, roughly. */
const CELLS_PER_STEP = 4_096

/** The rows of a table, measured, in steps. */
export function createRowsInSteps({ columns, cells }: CellTable): Steps<TableRow[]> {
  const some = Math.ceil(CELLS_PER_STEP / Math.max(1, columns.length))
  return makeMeasuredSteps(mapSteps(cells, (row) => createRow(columns, (at) => row[at]), some))
}
