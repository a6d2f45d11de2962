// What firings cost that read tables or make some, in nanoseconds. A table has a cell for each column in each row, though its rows, or its text, may
// hold few values.
import { sizeOf } from '../engine/measure.ts'
import type { Inputs } from '../engine/node-type.ts'
import { decoded, type ReadAs } from './charset.ts'
import { COUNTED, costOfPairs, lengthOf, UNIT } from './costs.ts'
import { type Cells, readCsv } from './csv-read.ts'
import type { TakenFile } from './files.ts'

/** A cell, be it empty. */
const CELL = 100

const COSTLY = COUNTED * UNIT

export function costOfCsv({ text, separator }: Inputs): number {
  return costOfRecords(lengthOf(text), () => readCsv(String(text), String(separator)))
}

export function costOfCsvFile({ file, encoding, separator }: Inputs): number {
  const taken = file as TakenFile
  return costOfRecords(taken.bytes.length, () => readCsv(decoded(taken, encoding as ReadAs), String(separator)))
}

/** Short records are filled up. Of a text that is not long, reading it twice takes little time. */
function costOfRecords(length: number, read: () => Cells[]): number {
  if (length > COUNTED) return length * UNIT
  let records: Cells[] = []
  try {
    records = read()
  } catch {
    // It is no CSV, which its firing tells.
  }
  const widest = records.reduce((most, cells) => Math.max(most, cells.length), 0)
  return length * UNIT + records.length * widest * CELL
}

/** Of all rows, each with each column that any of them has, and with each place of what the other inputs list. `unit`: what its rows cost by their size. */
export function costOfTable({ rows, ...others }: Inputs, unit = UNIT): number {
  const cost = sizeOf(rows) * unit
  return cost > COSTLY ? cost : cost + cellsOf(rows, others) * CELL
}

/** Of conditions on columns, in each row; `cost`: what else its firing costs. */
export function costOfConditions({ rows, where, present, contains, matches }: Inputs, cost: number): number {
  if (cost > COSTLY) return cost
  const wanted = Object.values((where ?? {}) as object).flat()
  return cost + cellsOf(rows, { where, wanted, present, contains, matches }) * CELL
}

/** Few rows of two tables belong together as a rule: a pair of them counts as a tenth of the cells that it would have, and as this at least. */
const PAIR = 100

export function costOfJoin({ left, right, ...others }: Inputs): number {
  const cost = (sizeOf(left) + sizeOf(right)) * UNIT
  if (cost > COSTLY) return cost
  const cells = cellsOf(left, others) + cellsOf(right, others)
  const columns = columnsIn(left) + columnsIn(right)
  return cost + cells * CELL + costOfPairs(left, right, Math.max(PAIR, (columns * CELL) / 10))
}

/** Of a table that may get a column of each of its rows. */
export function costOfPivot(inputs: Inputs): number {
  return costOfTable(inputs) + lengthOf(inputs.rows) ** 2 * (CELL / 4)
}

/** A name and a value. */
const TURNED = 2

/** Of a table that gets a row of each cell that is turned, with the cells that are kept beside it. */
export function costOfUnpivot(inputs: Inputs): number {
  const { rows, columns, keep } = inputs
  const cost = costOfTable(inputs)
  if (cost > COSTLY) return cost
  const all = columnsIn(rows)
  const turned = lengthOf(columns) || Math.max(0, all - lengthOf(keep))
  const kept = lengthOf(keep) || Math.max(0, all - turned)
  return cost + lengthOf(rows) * turned * (kept + TURNED) * CELL
}

function cellsOf(rows: unknown, named: Inputs): number {
  const places = Object.values(named).filter((one) => typeof one === 'object')
  return (lengthOf(rows) + 1) * places.reduce<number>((count, one) => count + lengthOf(one), columnsIn(rows))
}

function columnsIn(rows: unknown): number {
  const columns = new Set<string>()
  if (Array.isArray(rows)) for (const row of rows) for (const column in row) columns.add(column)
  return columns.size
}
