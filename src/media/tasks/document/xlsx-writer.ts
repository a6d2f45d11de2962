// The task that writes Excel workbooks with write-excel-file: one sheet, with a header row if wanted.
import writeExcelFile from 'write-excel-file/node'
import type { MediaTaskHandler } from '../../task-runner.ts'

interface WriteXlsxParams {
  readonly cells: readonly (readonly (string | number | boolean | null)[])[]
  readonly sheet: string
  /** Whether the first row names the columns. */
  readonly header: boolean
}

export const writeXlsx: MediaTaskHandler = async (_files, params) => {
  const { cells, sheet, header } = params as unknown as WriteXlsxParams
  const rows = cells.map((row, at) =>
    row.map((value) =>
      header && at === 0
        ? { value: value ?? '', fontWeight: 'bold' as const }
        : typeof value === 'string'
          ? { value, type: String }
          : value,
    ),
  )
  const options = header ? { sheet, stickyRowsCount: 1 } : { sheet }
  const file = await writeExcelFile(rows, options).toBuffer()
  return { files: [fixTimestamps(file)] }
}

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
/** 1 January 1980, the first date of the DOS format, with its time. */
const FIRST_DAY = ((1 << 16) << 5) | (1 << 16)

/** Sets one fixed time for all files of the archive, so that equal content gives equal bytes. */
function fixTimestamps(file: Buffer): Buffer {
  const end = file.length - 22
  if (file.readUInt32LE(end) !== END) throw new Error('the archive has an unexpected end record')
  let at = file.readUInt32LE(end + 16)
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    const local = file.readUInt32LE(at + 42)
    if (file.readUInt32LE(at) !== CENTRAL || file.readUInt32LE(local) !== LOCAL)
      throw new Error('the archive has unexpected file records')
    file.writeUInt32LE(FIRST_DAY, at + 12)
    file.writeUInt32LE(FIRST_DAY, local + 10)
    at += 46 + file.readUInt16LE(at + 28) + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32)
  }
  return file
}
