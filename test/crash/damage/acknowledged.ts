// The commits of a killed server that it had acknowledged. One that it had not may be missing without a word.
import { readFileSync, truncateSync } from 'node:fs'
import { lastCommitIn } from '../../../src/db/commit-mark.ts'
import { connectForReading } from '../../../src/db/connection.ts'
import { sizeOf } from '../../../src/db/emptied.ts'
import { markPath, readMark } from '../../../src/db/mark-file.ts'

/** The write-ahead log's own header, and that of each page in it (https://www.sqlite.org/fileformat2.html#walformat). */
const HEADER = 32
const PAGE_HEADER = 24
const AT = { page_bytes: 8, salts: 16, size_after_commit: 4, page_salts: 8 } as const
const SALTS_BYTES = 8

/** Cuts commits off the log that the mark does not know; whether the database ends with the marked one then. */
export function keepAcknowledged(database: string): boolean {
  const mark = readMark(markPath(database))
  if (mark === null || mark === 'damaged') return false
  const log = `${database}-wal`
  for (const end of [null, ...commitEnds(log).reverse()]) {
    if (end !== null) truncateSync(log, end)
    const number = numberOf(database)
    if (number <= mark.number) return number === mark.number
  }
  return false
}

function numberOf(database: string): number {
  const db = connectForReading(database)
  try {
    return lastCommitIn(db)?.number ?? 0
  } finally {
    db.close()
  }
}

/** Where in the log each commit ends. */
function commitEnds(log: string): number[] {
  if ((sizeOf(log) ?? 0) < HEADER) return []
  const bytes = readFileSync(log)
  const salts = bytes.subarray(AT.salts, AT.salts + SALTS_BYTES)
  const step = PAGE_HEADER + bytes.readUInt32BE(AT.page_bytes)
  const ends: number[] = []
  for (let at = HEADER; at + step <= bytes.length; at += step) {
    // From here on it is what an earlier round of the log has left.
    if (!bytes.subarray(at + AT.page_salts, at + AT.page_salts + SALTS_BYTES).equals(salts)) break
    if (bytes.readUInt32BE(at + AT.size_after_commit) > 0) ends.push(at + step)
  }
  return ends
}
