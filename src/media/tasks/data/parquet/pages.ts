// Checks the pages of a Parquet file by their headers before any page is unpacked: a few bytes may claim millions of values.
import type { ColumnMetaData, SchemaElement } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { MediaFault } from '../../../fault.ts'
import { formatCount, MOST_TASK_VALUES } from '../table-limits.ts'

/** In bytes, of the footer, which describes the file. */
const LONGEST_FOOTER = 8_000_000
/** For all unpacked pages of one read. */
const MOST_BYTES = 200_000_000

export interface ColumnChunk {
  readonly meta: ColumnMetaData
  readonly view: DataView<ArrayBuffer>
  /** The stated number of values. */
  readonly values: number
}

/** The budget of one read, for whole row groups. */
export class PageBudget {
  #bytes = MOST_BYTES
  #values = MOST_TASK_VALUES

  spend(bytes: number, values: number): void {
    this.#bytes -= bytes
    this.#values -= values
    if (this.#bytes >= 0 && this.#values >= 0) return
    throw new MediaFault(
      'too_large',
      `More than ${formatCount(MOST_TASK_VALUES)} values or ${formatCount(MOST_BYTES)} bytes would have to be unpacked. Read fewer rows or columns.`,
    )
  }
}

export function damagedParquet(cause?: unknown): MediaFault {
  return new MediaFault('bad_file', 'The Parquet file is damaged.', { cause })
}

/** Converts errors of the library to MediaFaults. */
export function mapParquetErrors<Value>(work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    throw error instanceof MediaFault ? error : damagedParquet(error)
  }
}

const FOOTER_BYTES = 8
const MAGIC = 0x31524150

/** @throws MediaFault where the file does not begin and end as Parquet, or its footer is too long */
export function guardFooter(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 4 || view.getUint32(0, true) !== MAGIC)
    throw new MediaFault('unsupported', 'The file is no Parquet: it does not begin as one.')
  if (bytes.length < 4 + FOOTER_BYTES || view.getUint32(bytes.length - 4, true) !== MAGIC) throw damagedParquet()
  const length = view.getUint32(bytes.length - FOOTER_BYTES, true)
  if (length > bytes.length - FOOTER_BYTES - 4) throw damagedParquet()
  if (length > LONGEST_FOOTER)
    throw new MediaFault(
      'too_large',
      `The description of the table has more than ${formatCount(LONGEST_FOOTER)} bytes.`,
    )
}

/** Reads one column of one row group. */
export function readColumnChunk(bytes: Uint8Array, meta: ColumnMetaData, element: SchemaElement): ColumnChunk {
  if (meta.type !== element.type) throw damagedParquet()
  const offsets = [meta.data_page_offset, meta.dictionary_page_offset].filter((one) => one !== undefined && one > 0n)
  const start = Math.min(...offsets.map(Number))
  const end = start + Number(meta.total_compressed_size)
  if (!(start >= 4 && end >= start && end <= bytes.length - FOOTER_BYTES)) throw damagedParquet()
  // A copy, since the library takes offsets in a view for offsets in its buffer.
  const own = new Uint8Array(bytes.subarray(start, end))
  return { meta, view: new DataView(own.buffer), values: Number(meta.num_values) }
}

/**
 * Checks the stated sizes of the pages against each other and against the budget. `rows`: the required number of values; null for lists, which may
 * have any number.
 */
export function guardPages({ view, values }: ColumnChunk, rows: number | null, budget: PageBudget): void {
  if (!(values >= 0) || (rows !== null && values !== rows)) throw damagedParquet()
  const reader = { view, offset: 0 }
  let found = 0
  while (reader.offset < view.byteLength - 1) {
    const page = parquetHeader(reader)
    const { compressed_page_size, uncompressed_page_size } = page
    const data = page.data_page_header ?? page.data_page_header_v2
    const count = data?.num_values ?? page.dictionary_page_header?.num_values ?? 0
    for (const one of [compressed_page_size, uncompressed_page_size, count])
      if (!Number.isInteger(one) || one < 0) throw damagedParquet()
    reader.offset += compressed_page_size
    if (reader.offset > view.byteLength) throw damagedParquet()
    budget.spend(uncompressed_page_size, count)
    if (data) found += count
    guardLevels(page.data_page_header_v2, compressed_page_size)
  }
  if (found !== values) throw damagedParquet()
}

interface PageLevels {
  readonly num_values: number
  readonly num_nulls: number
  readonly num_rows: number
  readonly definition_levels_byte_length: number
  readonly repetition_levels_byte_length: number
}

function guardLevels(page: PageLevels | undefined, size: number): void {
  if (!page) return
  const { num_values, num_nulls, num_rows } = page
  if (!(num_nulls >= 0 && num_nulls <= num_values && num_rows >= 0 && num_rows <= num_values)) throw damagedParquet()
  const { definition_levels_byte_length: definition, repetition_levels_byte_length: repetition } = page
  if (!(definition >= 0 && repetition >= 0 && definition + repetition <= size)) throw damagedParquet()
}
