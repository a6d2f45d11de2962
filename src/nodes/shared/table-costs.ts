// What firings cost that read tables or make some, in nanoseconds. A table has a cell for each column in each row, though its rows, or its text, may
// hold few values.

import type { InputValues } from '../../engine/node-api/node-type.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { decodeTextFile, type ReadEncoding } from './charset.ts'
import { type CsvRecord, parseCsvRecords } from './csv-parser.ts'
import type { InputFile } from './file-inputs.ts'
import { COST_PER_UNIT, costOfPairs, lengthOfValue, MOST_COUNTED_UNITS } from './firing-costs.ts'

/** A cell, be it empty. */
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

/** Short records are filled up. Of a text that is not long, reading it twice takes little time. */
function costOfRecords(length: number, read: () => CsvRecord[]): number {
  if (length > MOST_COUNTED_UNITS) return length * COST_PER_UNIT
  let records: CsvRecord[] = []
  try {
    records = read()
  } catch {
    // It is no CSV, which its firing tells.
  }
  const widest = records.reduce((most, cells) => Math.max(most, cells.length), 0)
  return length * COST_PER_UNIT + records.length * widest * CELL_COST
}

/** Of all rows, each with each column that any of them has, and with each place of what the other inputs list. `unit`: what its rows cost by their size. */
export function costOfTable({ rows, ...others }: InputValues, unit = COST_PER_UNIT): number {
  const cost = estimateSize(rows) * unit
  return cost > HIGH_COST ? cost : cost + countCells(rows, others) * CELL_COST
}

/** Of conditions on columns, in each row; `cost`: what else its firing costs. */
export function costOfConditions({ rows, where, present, contains, matches }: InputValues, cost: number): number {
  if (cost > HIGH_COST) return cost
  const wanted = Object.values((where ?? {}) as object).flat()
  return cost + countCells(rows, { where, wanted, present, contains, matches }) * CELL_COST
}

/** Few rows of two tables belong together as a rule: a pair of them counts as a tenth of the cells that it would have, and as this at least. */
const LEAST_PAIR_COST = 100

export function costOfJoin({ left, right, ...others }: InputValues): number {
  const cost = (estimateSize(left) + estimateSize(right)) * COST_PER_UNIT
  if (cost > HIGH_COST) return cost
  const cells = countCells(left, others) + countCells(right, others)
  const columns = countColumns(left) + countColumns(right)
  return cost + cells * CELL_COST + costOfPairs(left, right, Math.max(LEAST_PAIR_COST, (columns * CELL_COST) / 10))
}

/** Of a table that may get a column of each of its rows. */
export function costOfPivot(inputs: InputValues): number {
  return costOfTable(inputs) + lengthOfValue(inputs.rows) ** 2 * (CELL_COST / 4)
}

/** A name and a value. */
const UNPIVOTED_CELLS = 2

/** Of a table that gets a row of each cell that is turned, with the cells that are kept beside it. */
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
