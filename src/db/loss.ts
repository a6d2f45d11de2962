// What a database has lost: the mark beside it, or a key that was made for it, shows that there was more. A start looks before it opens the database
// for writing, since closing such a connection removes the log that may still hold what is missing.
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { StartError } from '../start-error.ts'
import { isKeyOfDatabase, keyFile } from '../vault/master-key.ts'
import { type LastCommit, lastCommitIn } from './commit-mark.ts'
import { connect, connectForReading } from './connection.ts'
import { isMixture } from './copying.ts'
import { isEmpty, remainsOf, sizeOf } from './emptied.ts'
import { type Mark, markPath, readMark } from './mark-file.ts'

export type FoundMark = ReturnType<typeof readMark>

export function isMark(mark: FoundMark): mark is Mark {
  return mark !== null && mark !== 'damaged'
}

export interface Loss {
  /** A sentence without its end: what is missing, and how that is known. */
  readonly text: string
  /** Whether the database is there at all. */
  readonly database: 'less' | 'another' | 'mixed' | 'missing'
  readonly facts: LossFacts
}

/** The same for the log. Absent: not known. */
export interface LossFacts {
  readonly acknowledged_commit?: number
  readonly acknowledged_at?: string
  readonly found_commit?: number
  readonly found_at?: string
}

/** A loss with what an operator can do about it, in one line. */
export function withAdvice({ text, database }: Loss): string {
  const missing = database === 'missing'
  const [back, on] = missing
    ? ['put it back', 'begin anew']
    : ['put back what was removed or replaced', 'go on without']
  return `${text}; ${back}, or restore a backup with "svc restore DIR", or let the next start ${on} with "svc check --accept-loss"`
}

/** Where the acceptance of a loss waits for the next start. */
export function acceptancePath(path: string): string {
  return `${markPath(path)}.accepted`
}

/** What the database at `path` has lost; null where nothing shows a loss. @throws StartError where the mark cannot be read */
export function lossOf(path: string): Loss | null {
  const mark = readMark(markPath(path))
  if ((sizeOf(path) ?? 0) === 0) return lossOfAll(path, mark)
  return isMark(mark) ? lossOfSome(path, mark) : null
}

/** Keeps a command away from a database that lacks something: what was removed may still be put back. @throws StartError */
export function refuseLoss(path: string): void {
  const loss = lossOf(path) ?? lossBehindJournal(path)
  if (loss !== null) throw new StartError(withAdvice(loss))
}

/** The same for a database that cannot be read before its journal is rolled back, which whoever opens it for writing does. */
function lossBehindJournal(path: string): Loss | null {
  const mark = readMark(markPath(path))
  if (!isMark(mark) || (sizeOf(`${path}-journal`) ?? 0) === 0) return null
  const found = lastCommitOf(path, (file) => connect(file, { exists: true }))
  return found === 'unreadable' ? null : lossBeside(path, mark, found)
}

function lossOfAll(path: string, mark: FoundMark): Loss | null {
  const what = `${path} is ${isEmpty(path) ? 'empty' : 'missing'}`
  const facts = isMark(mark) ? factsOf(mark, null) : {}
  const loss = (why: string): Loss => ({ text: `${what}, and ${why}`, database: 'missing', facts })
  if (mark === 'damaged') return loss(`its mark ${basename(markPath(path))} is there, and damaged`)
  if (mark !== null) return loss(`${mark.number} commits to it were acknowledged, the last at ${textOf(mark.time)}`)
  const remains = remainsOf(path)
  if (remains !== null) return loss(remains)
  const key = keyFile(dirname(path))
  if (isKeyOfDatabase(key)) return loss(`the key in ${basename(key)} was made for a database that was there`)
  return wasThereWhenAccepted(path) ? loss('it was there when a loss of a part of it was accepted') : null
}

/** Whether a loss of a part waits to be told by the next start. Its acceptance has removed the mark. */
function wasThereWhenAccepted(path: string): boolean {
  try {
    const { database } = JSON.parse(readFileSync(acceptancePath(path), 'utf8')) as Partial<Loss>
    return database !== undefined && database !== 'missing'
  } catch {
    return false
  }
}

function lossOfSome(path: string, mark: Mark): Loss | null {
  const found = lastCommitOf(path)
  return found === 'unreadable' ? null : lossBeside(path, mark, found)
}

/** What lies between the marked commit and the last one that was found. */
export function lossBeside(path: string, mark: Mark, found: LastCommit | null): Loss | null {
  const facts = factsOf(mark, found)
  const acknowledged = `commit ${mark.number} of ${textOf(mark.time)} was acknowledged`
  if (found !== null && found.database !== mark.database) {
    const text = `${path} is not the database that ${markPath(path)} belongs to, whose ${acknowledged}`
    return { text, database: 'another', facts }
  }
  const number = found?.number ?? 0
  if (number >= mark.number) return lossInCopying(path, facts)
  const end = found === null ? 'it holds none' : `it ends with commit ${number} of ${textOf(found.time)}`
  const count = mark.number - number
  const text = `${path} lacks the last ${count === 1 ? 'commit' : `${count} commits`}: ${acknowledged}, and ${end}`
  return { text, database: 'less', facts }
}

/** Its last commit may be copied, and other pages of the same log not. */
function lossInCopying(path: string, facts: LossFacts): Loss | null {
  if (!isMixture(path)) return null
  const text = `${path} may lack a part of its last commits: its log was being copied into it when the server was killed, and ${basename(path)}-wal is gone or damaged`
  return { text, database: 'mixed', facts }
}

/** Looks, by default without changing anything: what else is wrong with the file is found when it is opened. */
function lastCommitOf(path: string, open = connectForReading): LastCommit | 'unreadable' | null {
  try {
    const db = open(path)
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

export function textOf(time: number): string {
  return new Date(time).toISOString()
}
