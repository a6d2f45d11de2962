// What a database has lost: the mark beside it, or a key that was made for it, shows that there was more. A start looks before it opens the database
// for writing, since closing such a connection removes the log that may still hold what is missing.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { uptime } from 'node:os'
import { basename, dirname } from 'node:path'
import type { Log } from '../log.ts'
import { StartError } from '../start-error.ts'
import { syncFolder } from '../sync-folder.ts'
import { isKeyOfDatabase, keyFile } from '../vault/master-key.ts'
import { type LastCommit, lastCommitIn } from './commit-mark.ts'
import { type Connection, connectForReading } from './connection.ts'
import { isEmpty, remainsOf, sizeOf } from './emptied.ts'
import { type Mark, markPath, readMark } from './mark-file.ts'

export interface Loss {
  /** A sentence without its end: what is missing, and how that is known. */
  readonly text: string
  /** Whether the database is there at all. */
  readonly database: 'less' | 'another' | 'missing'
  readonly facts: LossFacts
}

/** The same for the log. Absent: not known. */
export interface LossFacts {
  readonly acknowledged_commit?: number
  readonly acknowledged_at?: string
  readonly found_commit?: number
  readonly found_at?: string
}

/** What an operator can do about a loss, as the end of its sentence. */
export function adviceOn({ database }: Loss): string {
  const missing = database === 'missing'
  const [back, on] = missing
    ? ['put it back', 'begin anew']
    : ['put back what was removed or replaced', 'go on without']
  return `${back}, or restore a backup with "svc restore DIR", or let the next start ${on} with "svc check --accept-loss"`
}

/** What the database at `path` has lost; null where nothing shows a loss. @throws StartError where the mark cannot be read */
export function lossOf(path: string): Loss | null {
  const found = readMark(markPath(path))
  const mark = found === 'damaged' ? null : found
  if ((sizeOf(path) ?? 0) === 0) return lossOfAll(path, mark)
  return mark === null ? null : lossOfSome(path, mark)
}

function lossOfAll(path: string, mark: Mark | null): Loss | null {
  const what = `${path} is ${isEmpty(path) ? 'empty' : 'missing'}`
  const facts = mark === null ? {} : factsOf(mark, null)
  const loss = (why: string): Loss => ({ text: `${what}, and ${why}`, database: 'missing', facts })
  if (mark !== null) return loss(`${mark.number} commits to it were acknowledged, the last at ${textOf(mark.time)}`)
  const remains = remainsOf(path)
  if (remains !== null) return loss(remains)
  const key = keyFile(dirname(path))
  return isKeyOfDatabase(key) ? loss(`the key in ${basename(key)} was made for a database that was there`) : null
}

function lossOfSome(path: string, mark: Mark): Loss | null {
  const found = lastCommitOf(path)
  return found === 'unreadable' ? null : lossBeside(path, mark, found)
}

/** What lies between the marked commit and the last one that was found. */
function lossBeside(path: string, mark: Mark, found: LastCommit | null): Loss | null {
  const facts = factsOf(mark, found)
  const acknowledged = `commit ${mark.number} of ${textOf(mark.time)} was acknowledged`
  if (found !== null && found.database !== mark.database) {
    const text = `${path} is not the database that ${markPath(path)} belongs to, whose ${acknowledged}`
    return { text, database: 'another', facts }
  }
  const number = found?.number ?? 0
  if (number >= mark.number) return null
  const end = found === null ? 'it holds none' : `it ends with commit ${number} of ${textOf(found.time)}`
  const count = mark.number - number
  const text = `${path} lacks the last ${count === 1 ? 'commit' : `${count} commits`}: ${acknowledged}, and ${end}`
  return { text, database: 'less', facts }
}

/** Looks without changing anything: what else is wrong with the file is found when it is opened. */
function lastCommitOf(path: string): LastCommit | 'unreadable' | null {
  try {
    const db = connectForReading(path)
    try {
      return lastCommitIn(db)
    } finally {
      db.close()
    }
  } catch {
    return 'unreadable'
  }
}

function factsOf(mark: Mark, found: LastCommit | null): LossFacts {
  return {
    acknowledged_commit: mark.number,
    acknowledged_at: textOf(mark.time),
    found_commit: found?.number ?? 0,
    ...(found && { found_at: textOf(found.time) }),
  }
}

function textOf(time: number): string {
  return new Date(time).toISOString()
}

/** Where the acceptance of a loss waits for the next start. */
export function acceptancePath(path: string): string {
  return `${markPath(path)}.accepted`
}

/** Lets the next start go on without what is lost. No server may run. @throws what the system says */
export function acceptLoss(path: string, { text, facts }: Loss): void {
  const [accepted, draft] = [acceptancePath(path), `${acceptancePath(path)}.draft`]
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${JSON.stringify({ lost: text, ...facts, accepted_at: textOf(Date.now()) })}\n`)
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

/**
 * Looks for a loss before a start opens the database at `path`. What it returns takes the open database.
 * @throws StartError where something is lost and the loss is not accepted; so does what it returns
 */
export function admit(path: string, log: Log | null): (db: Connection) => void {
  const accepted = acceptancePath(path)
  const mark = readMark(markPath(path))
  if (mark === null && existsSync(accepted)) return () => tellAccepted(accepted, log)
  const loss = refused(lossOf(path), mark)
  return (db) => {
    // It could not be read before where a journal had to be rolled back first.
    const lost = loss ?? (isMark(mark) ? refused(lossBeside(path, mark, lastCommitIn(db)), mark) : null)
    if (lost !== null) {
      log?.warn(lost.facts, `${lost.text}; with SVC_DURABILITY normal a power cut may take that back`)
      rmSync(markPath(path), { force: true })
    }
    if (mark === 'damaged')
      log?.warn(`the mark of the last commit, ${markPath(path)}, is damaged: a new one is written`)
    if (existsSync(accepted)) tellAccepted(accepted, log)
  }
}

function isMark(mark: Mark | 'damaged' | null): mark is Mark {
  return mark !== null && mark !== 'damaged'
}

/** A loss with which a start goes on all the same. @throws StartError for any other */
function refused(loss: Loss | null, mark: Mark | 'damaged' | null): Loss | null {
  if (loss === null || (isMark(mark) && isOfPower(loss, mark))) return loss
  throw new StartError(`${loss.text}; ${adviceOn(loss)}`)
}

/** Whether the machine was started after the mark was written, and commits did not wait for the disk. */
function isOfPower(loss: Loss, mark: Mark): boolean {
  return loss.database === 'less' && mark.durability === 'normal' && Date.now() - uptime() * 1_000 > mark.time
}

// A command that opens the database has no log: the acceptance waits for a start that has one.
function tellAccepted(accepted: string, log: Log | null): void {
  if (log === null) return
  log.warn(factsIn(accepted), 'the server goes on without what was lost, as "svc check --accept-loss" has accepted')
  rmSync(accepted, { force: true })
}

function factsIn(accepted: string): object {
  try {
    return JSON.parse(readFileSync(accepted, 'utf8')) as object
  } catch (err) {
    return { err }
  }
}
