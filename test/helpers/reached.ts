// Records what a run of the tests really reaches of the contract: operations that were answered, commands that were sent, and frames,
// error codes, types of events and statuses that were received. `run-tests.ts` judges the records of all processes.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCatalogue } from '../../generated/errors.ts'

export type ReachedKind = 'operation' | 'command' | 'frame' | 'error' | 'event' | 'status'

/** The folder of the records; absent: nothing is recorded. */
const folder = process.env.SVC_TEST_REACHED
const reached = new Set<string>()

const CODES_BY_TYPE = new Map(Object.entries(errorCatalogue).map(([code, { type }]) => [type as string, code]))

/** Records the code of an error body or frame, in any of their forms: they name the code, or its type. */
export function recordErrorCode(body: unknown): void {
  const { error, code: ownCode } = Object(body) as { error?: unknown; code?: unknown }
  const { type, code } = Object(error) as { type?: unknown; code?: unknown }
  for (const name of [ownCode, error, type, code]) {
    const known = CODES_BY_TYPE.get(String(name)) ?? String(name)
    if (known in errorCatalogue) recordReached('error', known)
  }
}

export function recordReached(kind: ReachedKind, name: string): void {
  if (folder === undefined) return
  if (reached.size === 0) process.once('exit', () => writeRecords(folder))
  reached.add(`${kind} ${name}`)
}

function writeRecords(folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${process.pid}.txt`), [...reached].join('\n'))
}

export function clearRecords(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

/** The names of a kind that any process has recorded. */
export function readRecords(folder: string): (kind: ReachedKind) => ReadonlySet<string> {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
  return (kind) =>
    new Set(lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1)))
}
