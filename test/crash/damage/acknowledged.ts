// The commits of a killed server that it had acknowledged. One that it had not may be missing without a word.
import { readFileSync, truncateSync } from 'node:fs'
import { endianness } from 'node:os'
import { dirname } from 'node:path'
import { openReadOnlyConnection } from '../../../src/db/connection.ts'
import { commitMarkPath, readCommitMark } from '../../../src/db/loss-detection/commit-mark-file.ts'
import { readLastCommit } from '../../../src/db/loss-detection/commit-numbering.ts'
import { fileSize } from '../../../src/db/loss-detection/missing-database.ts'
import { relent } from '../strike.ts'

/** The write-ahead log's own header, and that of each page in it (https://www.sqlite.org/fileformat2.html#walformat). */
const HEADER = 32
const PAGE_HEADER = 24
const AT = { page_bytes: 8, salts: 16, size_after_commit: 4, page_salts: 8 } as const
const SALTS_BYTES = 8

/** Where the index beside the log says it, in the order of the machine's bytes (https://www.sqlite.org/walformat.html#walindex_format). */
const COPIED_AT = 128

/**
 * Cuts commits off the log that the mark does not know; whether the database ends with the marked one then. A commit of which pages are in the database
 * already stays: without the others they would be damage. So many pages of the log, `copied`, may be there.
 */
export function keepAcknowledged(database: string, copied: number): boolean {
  const mark = readCommitMark(commitMarkPath(database))
  if (mark === null || mark === 'damaged') return false
  const log = `${database}-wal`
  const ends = commitEnds(log).filter(({ pages }) => pages >= copied)
  for (const end of [null, ...ends.reverse()]) {
    if (end !== null) truncateSync(log, end.at)
    const number = numberOf(database)
    if (number > mark.number) continue
    // What took the trigger of a strike away may have been cut off: a start refuses a schema that it does not know.
    relent(dirname(database))
    return number === mark.number
  }
  return false
}

function numberOf(database: string): number {
  const db = openReadOnlyConnection(database)
  try {
    return readLastCommit(db)?.number ?? 0
  } finally {
    db.close()
  }
}

/**
 * How many pages of the log of a killed server are in its database, or may be: as long as nobody has opened it since, which makes the index anew. 0 where
 * the server has closed it.
 */
export function copiedPages(database: string): number {
  const index = `${database}-shm`
  if ((fileSize(index) ?? 0) === 0) return 0
  const bytes = readFileSync(index)
  return endianness() === 'LE' ? bytes.readUInt32LE(COPIED_AT) : bytes.readUInt32BE(COPIED_AT)
}

interface CommitEnd {
  readonly at: number
  /** Of the log, up to there. */
  readonly pages: number
}

/** Where in the log each commit ends. */
function commitEnds(log: string): CommitEnd[] {
  if ((fileSize(log) ?? 0) < HEADER) return []
  const bytes = readFileSync(log)
  const salts = bytes.subarray(AT.salts, AT.salts + SALTS_BYTES)
  const step = PAGE_HEADER + bytes.readUInt32BE(AT.page_bytes)
  const ends: CommitEnd[] = []
  for (let at = HEADER; at + step <= bytes.length; at += step) {
    // From here on it is what an earlier round of the log has left.
    if (!bytes.subarray(at + AT.page_salts, at + AT.page_salts + SALTS_BYTES).equals(salts)) break
    if (bytes.readUInt32BE(at + AT.size_after_commit) > 0)
      ends.push({ at: at + step, pages: (at + step - HEADER) / step })
  }
  return ends
}
