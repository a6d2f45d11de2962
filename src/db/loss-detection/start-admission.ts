// Which starts go on though something is lost: those with a loss that an operator has accepted, or that SVC_DURABILITY allows. Either waits in a file
// beside the database until the log of a server tells of it.
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

/** What a start writes into its log about a loss that it goes on without. */
interface LossAcceptance extends CommitLossFacts {
  readonly message: string
  readonly lost?: string
  readonly database?: CommitLoss['database']
  readonly accepted_at?: string
}

const ACCEPTED_BY_OPERATOR = 'the server goes on without what was lost, as "svc check --accept-loss" has accepted'

/** Lets the next start go on without what is lost. No server may run. @throws what the system says */
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
  // While the mark is there, starts refuse: the acceptance is on the disk before it goes.
  rmSync(commitMarkPath(path), { force: true })
  fsyncFolder(dirname(path))
}

/** How far a start may go. */
export interface StartAdmission {
  /** Looks once more, before anything is written: a database with a journal that has to be rolled back could not be read before. @throws StartError */
  readonly compareCommits: (db: SqliteConnection) => void
  /** The start goes on: what is lost is in the log. */
  readonly databaseOpened: () => void
}

/**
 * Looks for a loss before a start opens the database at `path`.
 * @throws StartError where something is lost and the loss is not accepted
 */
export function admitStart(path: string, log: Log | null): StartAdmission {
  const mark = readCommitMark(commitMarkPath(path))
  // Without a mark, a database that is missing is all that can be found lost.
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

/** A loss with which a start goes on all the same. @throws StartError for any other */
function requireAcceptable(loss: CommitLoss | null, mark: CommitMarkReading): CommitLoss | null {
  if (loss === null || (isReadableMark(mark) && isPowerCutLoss(loss, mark))) return loss
  throw new StartError(describeLoss(loss))
}

/** Whether the machine was started after the mark was written, and commits did not wait for the disk. */
function isPowerCutLoss(loss: CommitLoss, mark: StoredCommitMark): boolean {
  return loss.database === 'less' && mark.durability === 'normal' && Date.now() - uptime() * 1_000 > mark.time
}

/** Removes an acceptance that was interrupted, where what was lost has been put back since: it is about the mark that is still there. */
function removeInterruptedAcceptance(path: string, mark: StoredCommitMark): void {
  const acceptance = readAcceptance(path)
  if (acceptance?.acknowledged_commit !== mark.number || acceptance.acknowledged_at !== formatTime(mark.time)) return
  rmSync(lossAcceptancePath(path), { force: true })
}

// A command that opens the database has no log: the acceptance waits for a start that has one.
function logAcceptance(path: string, log: Log | null): void {
  const acceptance = readAcceptance(path)
  if (log === null || acceptance === null) return
  const { message, ...facts } = acceptance
  log.warn(facts, message)
  rmSync(lossAcceptancePath(path), { force: true })
}

/** Null where there is none. */
function readAcceptance(path: string): LossAcceptance | null {
  const accepted = lossAcceptancePath(path)
  if (!existsSync(accepted)) return null
  try {
    return { message: ACCEPTED_BY_OPERATOR, ...(JSON.parse(readFileSync(accepted, 'utf8')) as object) }
  } catch {
    return { message: ACCEPTED_BY_OPERATOR }
  }
}
