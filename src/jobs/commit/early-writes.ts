// Writes the further rows of a large value, and the parts of a large result, before the event that refers to them: one transaction for all of them would
// block others for long.
import { putResultPart } from '../../db/jobs/result-parts.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { isTerminal } from '../state-machine.ts'
import type { AdditionalWrite } from './commit-range.ts'

/** At most this many further rows are written together with their value: each takes a tenth of a millisecond. */
const MOST_EXTRAS = 100

interface RowWriter {
  write(extra: AdditionalWrite): void
  whenWritten(): Promise<void>
}

/**
 * Writes the further rows of a value in parts before the value is published, and returns the rest, to be written with the value. Where the job ends
 * meanwhile, all unwritten rows are returned. Earlier changes are written first, so that the value is the same after an interruption.
 * @throws SERVICE_UNAVAILABLE where they cannot be written
 */
export async function writeRowsEarly(
  writer: RowWriter,
  row: JobTable,
  extras: readonly AdditionalWrite[],
): Promise<readonly AdditionalWrite[]> {
  let left = extras
  while (left.length > MOST_EXTRAS && !isTerminal(row.status)) {
    for (const extra of left.slice(0, MOST_EXTRAS)) writer.write(extra)
    left = left.slice(MOST_EXTRAS)
    await writer.whenWritten()
  }
  return left
}

/**
 * Writes the parts of a large result before the job ends, one commit for each part. It stops where the job ends meanwhile.
 * @throws SERVICE_UNAVAILABLE where they cannot be written
 */
export async function writeResultParts(writer: RowWriter, row: JobTable, parts: readonly string[]): Promise<void> {
  for (const [at, body] of parts.entries()) {
    if (isTerminal(row.status)) return
    writer.write((tx) => putResultPart(tx, { job_key: row.key, at, body }))
    await writer.whenWritten()
  }
}
