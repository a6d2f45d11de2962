// Finds out what a database has lost, by the mark beside it or a key that was generated for it. A start checks before it opens the database for
// writing, since closing such a connection removes the log that may hold the missing commits.
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { StartError } from '../../start-error.ts'
import { hasGeneratedKey, masterKeyPath } from '../../vault/master-key-file.ts'
import { openConnection, openReadOnlyConnection } from '../connection.ts'
import { isPartlyCheckpointed } from '../wal/checkpoint.ts'
import { commitMarkPath, readCommitMark, type StoredCommitMark } from './commit-mark-file.ts'
import { type LastCommit, readLastCommit } from './commit-numbering.ts'
import { describeRemains, fileSize, isEmptyFile } from './missing-database.ts'

export type CommitMarkReading = ReturnType<typeof readCommitMark>

export function isReadableMark(mark: CommitMarkReading): mark is StoredCommitMark {
  return mark !== null && mark !== 'damaged'
}

export interface CommitLoss {
  /** What is missing, and how that is known: a sentence without its end. */
  readonly text: string
  /** How the database differs: it has fewer commits, is another database, mixes old and new pages, or is missing. */
  readonly database: 'less' | 'another' | 'mixed' | 'missing'
  readonly facts: CommitLossFacts
}

/** The same for the log. Absent: unknown. */
export interface CommitLossFacts {
  readonly acknowledged_commit?: number
  readonly acknowledged_at?: string
  readonly found_commit?: number
  readonly found_at?: string
}

/** A loss with the remedies for the operator, in one line. */
export function describeLoss({ text, database }: CommitLoss): string {
  const missing = database === 'missing'
  const [back, on] = missing
    ? ['put it back', 'begin anew']
    : ['put back what was removed or replaced', 'go on without']
  return `${text}; ${back}, or restore a backup with "svc restore DIR", or let the next start ${on} with "svc check --accept-loss"`
}

/** The file in which an accepted loss waits for the next start. */
export function lossAcceptancePath(path: string): string {
  return `${commitMarkPath(path)}.accepted`
}

/** The loss of the database at `path`; null: nothing shows a loss. @throws StartError if the mark cannot be read */
export function detectLoss(path: string): CommitLoss | null {
  const mark = readCommitMark(commitMarkPath(path))
  if ((fileSize(path) ?? 0) === 0) return detectMissingDatabase(path, mark)
  return isReadableMark(mark) ? detectMissingCommits(path, mark) : null
}

/** Keeps a command from using a database that lacks something: removed files may still be put back. @throws StartError */
export function requireNoLoss(path: string): void {
  const loss = detectLoss(path) ?? detectLossBehindJournal(path)
  if (loss !== null) throw new StartError(describeLoss(loss))
}

/** The same for a database that cannot be read before its journal is rolled back, which a connection for writing does. */
function detectLossBehindJournal(path: string): CommitLoss | null {
  const mark = readCommitMark(commitMarkPath(path))
  if (!isReadableMark(mark) || (fileSize(`${path}-journal`) ?? 0) === 0) return null
  const found = tryReadLastCommit(path, (file) => openConnection(file, { exists: true }))
  return found === 'unreadable' ? null : compareWithMark(path, mark, found)
}

function detectMissingDatabase(path: string, mark: CommitMarkReading): CommitLoss | null {
  const what = `${path} is ${isEmptyFile(path) ? 'empty' : 'missing'}`
  const facts = isReadableMark(mark) ? toLossFacts(mark, null) : {}
  const loss = (why: string): CommitLoss => ({ text: `${what}, and ${why}`, database: 'missing', facts })
  if (mark === 'damaged') return loss(`its mark ${basename(commitMarkPath(path))} is there, and damaged`)
  if (mark !== null) return loss(`${mark.number} commits to it were acknowledged, the last at ${formatTime(mark.time)}`)
  const remains = describeRemains(path)
  if (remains !== null) return loss(remains)
  const key = masterKeyPath(dirname(path))
  if (hasGeneratedKey(key)) return loss(`the key in ${basename(key)} was generated for a database that existed`)
  return wasPresentWhenAccepted(path) ? loss('it existed when a loss of some commits was accepted') : null
}

/** Whether an accepted loss of some commits waits for the next start. Its acceptance has removed the mark. */
function wasPresentWhenAccepted(path: string): boolean {
  try {
    const { database } = JSON.parse(readFileSync(lossAcceptancePath(path), 'utf8')) as Partial<CommitLoss>
    return database !== undefined && database !== 'missing'
  } catch {
    return false
  }
}

function detectMissingCommits(path: string, mark: StoredCommitMark): CommitLoss | null {
  const found = tryReadLastCommit(path)
  return found === 'unreadable' ? null : compareWithMark(path, mark, found)
}

/** The difference between the marked commit and the last commit that was found. */
export function compareWithMark(path: string, mark: StoredCommitMark, found: LastCommit | null): CommitLoss | null {
  const facts = toLossFacts(mark, found)
  const acknowledged = `commit ${mark.number} of ${formatTime(mark.time)} was acknowledged`
  if (found !== null && found.database !== mark.database) {
    const text = `${path} is not the database that ${commitMarkPath(path)} belongs to, whose ${acknowledged}`
    return { text, database: 'another', facts }
  }
  const number = found?.number ?? 0
  if (number >= mark.number) return detectPartialCheckpoint(path, facts)
  const end = found === null ? 'it holds none' : `it ends with commit ${number} of ${formatTime(found.time)}`
  const count = mark.number - number
  const text = `${path} lacks the last ${count === 1 ? 'commit' : `${count} commits`}: ${acknowledged}, and ${end}`
  return { text, database: 'less', facts }
}

/** The last commit may be copied while other pages of the same log are not. */
function detectPartialCheckpoint(path: string, facts: CommitLossFacts): CommitLoss | null {
  if (!isPartlyCheckpointed(path)) return null
  const text = `${path} may lack a part of its last commits: its log was being copied into it when the server was killed, and ${basename(path)}-wal is gone or damaged`
  return { text, database: 'mixed', facts }
}

/** Reads the last commit, by default without changing anything: opening the database finds other faults of the file. */
function tryReadLastCommit(path: string, open = openReadOnlyConnection): LastCommit | 'unreadable' | null {
  try {
    const db = open(path)
    try {
      return readLastCommit(db)
    } finally {
      db.close()
    }
  } catch {
    return 'unreadable'
  }
}

function toLossFacts(mark: StoredCommitMark, found: LastCommit | null): CommitLossFacts {
  return {
    acknowledged_commit: mark.number,
    acknowledged_at: formatTime(mark.time),
    found_commit: found?.number ?? 0,
    ...(found && { found_at: formatTime(found.time) }),
  }
}

export function formatTime(time: number): string {
  return new Date(time).toISOString()
}
