// Costs of firings that read or make tables, in nanoseconds. A table has a cell for each column in each row, even if its rows or its text
// hold few values.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { decodeTextFile, type ReadEncoding } from './charset.ts'
import { type CsvRecord, parseCsvRecords } from './csv-parser.ts'
import type { InputFile } from './file-inputs.ts'
import { COST_PER_UNIT, costOfPairs, lengthOfValue, MOST_COUNTED_UNITS } from './firing-costs.ts'

/** The cost of a cell, even of an empty one. */
const CELL_COST = 100

const HIGH_COST = MOST_COUNTED_UNITS * COST_PER_UNIT

export function costOfCsv({ text, separator }: InputValues): number {
  return costOfRecords(lengthOfValue(text), () => parseCsvRecords(String(text), String(separator)))
}

export function costOfCsvFile({ file, encoding, separator }: InputValues): number {
  const taken = file as InputFile
  return costOfRecords(taken.bytes.length, () =>
    parseCsvRecords(decodeTextFile(taken, encoding as ReadEncoding), String(separator)),
  )
}

/** Short records are filled up. Reading a short text twice takes little time. */
function costOfRecords(length: number, read: () => CsvRecord[]): number {
  if (length > MOST_COUNTED_UNITS) return length * COST_PER_UNIT
  let records: CsvRecord[] = []
  try {
    records = read()
  } catch {
    // The text is not CSV, and the firing reports that.
  }
  const widest = records.reduce((most, cells) => Math.max(most, cells.length), 0)
  return length * COST_PER_UNIT + records.length * widest * CELL_COST
}

/**
 * The cost of all rows with every column of the table, and with each item of the other inputs. `unit`: the cost of the rows per unit of
 * size.
 */
export function costOfTable({ rows, ...others }: InputValues, unit = COST_PER_UNIT): number {
  const cost = estimateSize(rows) * unit
  return cost > HIGH_COST ? cost : cost + countCells(rows, others) * CELL_COST
}

/** The cost of conditions on columns in each row. `cost`: other costs of the firing. */
export function costOfConditions({ rows, where, present, contains, matches }: InputValues, cost: number): number {
  if (cost > HIGH_COST) return cost
  const wanted = Object.values((where ?? {}) as object).flat()
  return cost + countCells(rows, { where, wanted, present, contains, matches }) * CELL_COST
}

/** Usually few rows of two tables match, so a pair counts as a tenth of its cells, and at least as this. */
const LEAST_PAIR_COST = 100

export function costOfJoin({ left, right, ...others }: InputValues): number {
  const cost = (estimateSize(left) + estimateSize(right)) * COST_PER_UNIT
  if (cost > HIGH_COST) return cost
  const cells = countCells(left, others) + countCells(right, others)
  const columns = countColumns(left) + countColumns(right)
  return cost + cells * CELL_COST + costOfPairs(left, right, Math.max(LEAST_PAIR_COST, (columns * CELL_COST) / 10))
}

/** The cost of a table that may get a column for each of its rows. */
export function costOfPivot(inputs: InputValues): number {
  return costOfTable(inputs) + lengthOfValue(inputs.rows) ** 2 * (CELL_COST / 4)
}

/** A name and a value. */
const UNPIVOTED_CELLS = 2

/** The cost of a table that gets a row for each unpivoted cell, with the kept cells. */
export function costOfUnpivot(inputs: InputValues): number {
  const { rows, columns, keep } = inputs
  const cost = costOfTable(inputs)
  if (cost > HIGH_COST) return cost
  const all = countColumns(rows)
  const turned = lengthOfValue(columns) || Math.max(0, all - lengthOfValue(keep))
  const kept = lengthOfValue(keep) || Math.max(0, all - turned)
  return cost + lengthOfValue(rows) * turned * (kept + UNPIVOTED_CELLS) * CELL_COST
}

function countCells(rows: unknown, named: InputValues): number {
  const places = Object.values(named).filter((one) => typeof one === 'object')
  return (
    (lengthOfValue(rows) + 1) * places.reduce<number>((count, one) => count + lengthOfValue(one), countColumns(rows))
  )
}

function countColumns(rows: unknown): number {
  const columns = new Set<string>()
  if (Array.isArray(rows)) for (const row of rows) for (const column in row) columns.add(column)
  return columns.size
}
