// Records what a run of the tests really reaches of the contract: operations that were answered, commands that were sent, and frames,
// error codes, types of events and statuses that were received. `run-tests.ts` judges the records of all processes.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ReachedKind = 'operation' | 'command' | 'frame' | 'error' | 'event' | 'status'

/** The folder of the records; absent: nothing is recorded. */
const folder = process.env.SVC_TEST_REACHED
const reached = new Set<string>()

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
