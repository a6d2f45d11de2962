// Which starts go on though something is lost: those with a loss that an operator has accepted, or that SVC_DURABILITY allows. Either waits in a file
// beside the database until the log of a server tells of it.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { uptime } from 'node:os'
import { dirname } from 'node:path'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import { lastCommitIn } from './commit-mark.ts'
import type { Connection } from './connection.ts'
import {
  acceptancePath,
  type FoundMark,
  isMark,
  type Loss,
  type LossFacts,
  lossBeside,
  lossOf,
  textOf,
  withAdvice,
} from './loss.ts'
import { type Mark, markPath, readMark } from './mark-file.ts'

/** What a start writes into its log about a loss that it goes on without. */
interface Acceptance extends LossFacts {
  readonly message: string
  readonly lost?: string
  readonly database?: Loss['database']
  readonly accepted_at?: string
}

const BY_OPERATOR = 'the server goes on without what was lost, as "svc check --accept-loss" has accepted'

/** Lets the next start go on without what is lost. No server may run. @throws what the system says */
export function acceptLoss(path: string, loss: Loss, message = BY_OPERATOR): void {
  const [accepted, draft] = [acceptancePath(path), `${acceptancePath(path)}.draft`]
  rmSync(draft, { force: true })
  const { text, database, facts } = loss
  const acceptance: Acceptance = { message, lost: text, database, ...facts, accepted_at: textOf(Date.now()) }
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${JSON.stringify(acceptance)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, accepted)
  syncFolder(dirname(path))
  // While the mark is there, starts refuse: the acceptance is on the disk before it goes.
  rmSync(markPath(path), { force: true })
  syncFolder(dirname(path))
}

/** How far a start may go. */
export interface Admission {
  /** Looks once more, before anything is written: a database with a journal that has to be rolled back could not be read before. @throws StartError */
  readonly compare: (db: Connection) => void
  /** The start goes on: what is lost is in the log. */
  readonly opened: () => void
}

/**
 * Looks for a loss before a start opens the database at `path`.
 * @throws StartError where something is lost and the loss is not accepted
 */
export function admit(path: string, log: Log | null): Admission {
  const mark = readMark(markPath(path))
  // Without a mark, a database that is missing is all that can be found lost.
  const isAccepted = mark === null && acceptanceIn(path)?.database === 'missing'
  let loss = isAccepted ? null : refused(lossOf(path), mark)
  return {
    compare(db) {
      if (loss === null && isMark(mark)) loss = refused(lossBeside(path, mark, lastCommitIn(db)), mark)
    },
    opened() {
      if (loss !== null)
        acceptLoss(path, loss, `${loss.text}; with SVC_DURABILITY normal a power cut may take that back`)
      else if (isMark(mark)) forgetInterrupted(path, mark)
      if (mark === 'damaged')
        log?.warn(`the mark of the last commit, ${markPath(path)}, is damaged: a new one is written`)
      tellAccepted(path, log)
    },
  }
}

/** A loss with which a start goes on all the same. @throws StartError for any other */
function refused(loss: Loss | null, mark: FoundMark): Loss | null {
  if (loss === null || (isMark(mark) && isOfPower(loss, mark))) return loss
  throw new StartError(withAdvice(loss))
}

/** Whether the machine was started after the mark was written, and commits did not wait for the disk. */
function isOfPower(loss: Loss, mark: Mark): boolean {
  return loss.database === 'less' && mark.durability === 'normal' && Date.now() - uptime() * 1_000 > mark.time
}

/** Removes an acceptance that was interrupted, where what was lost has been put back since: it is about the mark that is still there. */
function forgetInterrupted(path: string, mark: Mark): void {
  const acceptance = acceptanceIn(path)
  if (acceptance?.acknowledged_commit !== mark.number || acceptance.acknowledged_at !== textOf(mark.time)) return
  rmSync(acceptancePath(path), { force: true })
}

// A command that opens the database has no log: the acceptance waits for a start that has one.
function tellAccepted(path: string, log: Log | null): void {
  const acceptance = acceptanceIn(path)
  if (log === null || acceptance === null) return
  const { message, ...facts } = acceptance
  log.warn(facts, message)
  rmSync(acceptancePath(path), { force: true })
}

/** Null where there is none. */
function acceptanceIn(path: string): Acceptance | null {
  const accepted = acceptancePath(path)
  if (!existsSync(accepted)) return null
  try {
    return { message: BY_OPERATOR, ...(JSON.parse(readFileSync(accepted, 'utf8')) as object) }
  } catch {
    return { message: BY_OPERATOR }
  }
}
