// The acknowledged commits of a killed server. Unacknowledged commits may be missing without a report.
import { readFileSync, truncateSync } from 'node:fs'
import { endianness } from 'node:os'
import { dirname } from 'node:path'
import { openReadOnlyConnection } from '../../../src/db/connection.ts'
import { commitMarkPath, readCommitMark } from '../../../src/db/loss-detection/commit-mark-file.ts'
import { readLastCommit } from '../../../src/db/loss-detection/commit-numbering.ts'
import { fileSize } from '../../../src/db/loss-detection/missing-database.ts'
import { relent } from '../strike.ts'

/** The header of the write-ahead log, and of each page in it (https://www.sqlite.org/fileformat2.html#walformat). */
const HEADER = 32
const PAGE_HEADER = 24
const AT = { page_bytes: 8, salts: 16, size_after_commit: 4, page_salts: 8 } as const
const SALTS_BYTES = 8

/** The position in the index beside the log, in the machine's byte order (https://www.sqlite.org/walformat.html#walindex_format). */
const COPIED_AT = 128

/**
 * Cuts commits that the mark does not know off the log. Returns whether the database then ends with the marked commit. A commit with pages
 * in the database already stays, because the rest of its pages would be damage. `copied` pages of the log may be there.
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
    // The commit that removed a strike's trigger may be cut off. A start refuses a schema that it does not know.
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
 * How many pages of a killed server's log are, or may be, in its database. No process may have opened the database since, because that
 * recreates the index. 0 where the server has closed the database.
 */
export function copiedPages(database: string): number {
  const index = `${database}-shm`
  if ((fileSize(index) ?? 0) === 0) return 0
  const bytes = readFileSync(index)
  return endianness() === 'LE' ? bytes.readUInt32LE(COPIED_AT) : bytes.readUInt32BE(COPIED_AT)
}

interface CommitEnd {
  readonly at: number
  /** The size of the log up to there. */
  readonly pages: number
}

/** The offset in the log at which each commit ends. */
function commitEnds(log: string): CommitEnd[] {
  if ((fileSize(log) ?? 0) < HEADER) return []
  const bytes = readFileSync(log)
  const salts = bytes.subarray(AT.salts, AT.salts + SALTS_BYTES)
  const step = PAGE_HEADER + bytes.readUInt32BE(AT.page_bytes)
  const ends: CommitEnd[] = []
  for (let at = HEADER; at + step <= bytes.length; at += step) {
    // The rest belongs to an earlier round of the log.
    if (!bytes.subarray(at + AT.page_salts, at + AT.page_salts + SALTS_BYTES).equals(salts)) break
    if (bytes.readUInt32BE(at + AT.size_after_commit) > 0)
      ends.push({ at: at + step, pages: (at + step - HEADER) / step })
  }
  return ends
}
