// Decides whether a start may continue after a loss: an operator has accepted the loss, or SVC_DURABILITY permits it. A file beside the database
// keeps the loss until a server logs it.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { uptime } from 'node:os'
import { dirname } from 'node:path'
import type { Log } from '../../log.ts'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import { StartError } from '../../start-error.ts'
import type { SqliteConnection } from '../connection.ts'
import {
  type CommitLoss,
  type CommitLossFacts,
  type CommitMarkReading,
  compareWithMark,
  describeLoss,
  detectLoss,
  formatTime,
  isReadableMark,
  lossAcceptancePath,
} from './commit-loss.ts'
import { commitMarkPath, readCommitMark, type StoredCommitMark } from './commit-mark-file.ts'
import { readLastCommit } from './commit-numbering.ts'

/** The log line of a start after an accepted loss. */
interface LossAcceptance extends CommitLossFacts {
  readonly message: string
  readonly lost?: string
  readonly database?: CommitLoss['database']
  readonly accepted_at?: string
}

const ACCEPTED_BY_OPERATOR = 'the server goes on without what was lost, as "svc check --accept-loss" has accepted'

/** Lets the next start continue without what is lost. No server may run. @throws the error of the system */
export function acceptCommitLoss(path: string, loss: CommitLoss, message = ACCEPTED_BY_OPERATOR): void {
  const [accepted, draft] = [lossAcceptancePath(path), `${lossAcceptancePath(path)}.draft`]
  rmSync(draft, { force: true })
  const { text, database, facts } = loss
  const acceptance: LossAcceptance = { message, lost: text, database, ...facts, accepted_at: formatTime(Date.now()) }
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${JSON.stringify(acceptance)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, accepted)
  fsyncFolder(dirname(path))
  // Starts are refused while the mark exists, so the acceptance must be on the disk before the mark is removed.
  rmSync(commitMarkPath(path), { force: true })
  fsyncFolder(dirname(path))
}

export interface StartAdmission {
  /** Checks again before anything is written, because a database with a journal to roll back could not be read before. @throws StartError */
  readonly compareCommits: (db: SqliteConnection) => void
  /** Logs the loss once the start has succeeded. */
  readonly databaseOpened: () => void
}

/**
 * Checks for a loss before a start opens the database at `path`.
 * @throws StartError if there is a loss that is not accepted
 */
export function admitStart(path: string, log: Log | null): StartAdmission {
  const mark = readCommitMark(commitMarkPath(path))
  // Without a mark, only a missing database can be detected.
  const isAccepted = mark === null && readAcceptance(path)?.database === 'missing'
  let loss = isAccepted ? null : requireAcceptable(detectLoss(path), mark)
  return {
    compareCommits(db) {
      if (loss === null && isReadableMark(mark))
        loss = requireAcceptable(compareWithMark(path, mark, readLastCommit(db)), mark)
    },
    databaseOpened() {
      if (loss !== null)
        acceptCommitLoss(path, loss, `${loss.text}; with SVC_DURABILITY normal a power cut may take that back`)
      else if (isReadableMark(mark)) removeInterruptedAcceptance(path, mark)
      if (mark === 'damaged')
        log?.warn(`the mark of the last commit, ${commitMarkPath(path)}, is damaged: a new one is written`)
      logAcceptance(path, log)
    },
  }
}

/** A loss despite which a start may continue. @throws StartError for any other */
function requireAcceptable(loss: CommitLoss | null, mark: CommitMarkReading): CommitLoss | null {
  if (loss === null || (isReadableMark(mark) && isPowerCutLoss(loss, mark))) return loss
  throw new StartError(describeLoss(loss))
}

/** Whether the machine was started after the mark was written, and commits did not wait for the disk. */
function isPowerCutLoss(loss: CommitLoss, mark: StoredCommitMark): boolean {
  return loss.database === 'less' && mark.durability === 'normal' && Date.now() - uptime() * 1_000 > mark.time
}

/** Removes an interrupted acceptance if the lost files were put back since: it refers to the mark that still exists. */
function removeInterruptedAcceptance(path: string, mark: StoredCommitMark): void {
  const acceptance = readAcceptance(path)
  if (acceptance?.acknowledged_commit !== mark.number || acceptance.acknowledged_at !== formatTime(mark.time)) return
  rmSync(lossAcceptancePath(path), { force: true })
}

// A command that opens the database has no log: the acceptance waits for a start with one.
function logAcceptance(path: string, log: Log | null): void {
  const acceptance = readAcceptance(path)
  if (log === null || acceptance === null) return
  const { message, ...facts } = acceptance
  log.warn(facts, message)
  rmSync(lossAcceptancePath(path), { force: true })
}

/** Null: there is none. */
function readAcceptance(path: string): LossAcceptance | null {
  const accepted = lossAcceptancePath(path)
  if (!existsSync(accepted)) return null
  try {
    return { message: ACCEPTED_BY_OPERATOR, ...(JSON.parse(readFileSync(accepted, 'utf8')) as object) }
  } catch {
    return { message: ACCEPTED_BY_OPERATOR }
  }
}
