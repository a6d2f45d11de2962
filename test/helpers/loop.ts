// How long work holds the event loop, on a machine that may be busy with other things.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { mostMs } from './processor.ts'

/** What a request may feel of work in the background, in milliseconds. */
const LIMIT_MS = 20
const ROUNDS = 8

/**
 * Fails where work holds the event loop for more than 20 ms in each of several rounds. Only time in which this thread was at work counts: a
 * processor or a disk that others keep busy holds everybody.
 */
export async function leavesLoopFree(prepare: () => Promise<() => Promise<void>>): Promise<void> {
  const found: number[] = []
  while (found.length < ROUNDS) {
    const work = await prepare()
    const longest = await longestTurn(work)
    if (longest < mostMs(longest, LIMIT_MS)) return
    found.push(Math.round(longest))
  }
  assert.fail(`the event loop was held for ${found.join(', ')} ms`)
}

/** The processor time of the longest turn of the event loop, in milliseconds. */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  return (await turnsOf(work)).reduce((longest, turn) => Math.max(longest, turn), 0)
}

/** The processor time of each turn of the event loop until the work has ended, in milliseconds. */
export async function turnsOf(work: () => Promise<void>): Promise<number[]> {
  const turns: number[] = []
  let before = process.threadCpuUsage()
  let running = true
  const look = () => {
    const { user, system } = process.threadCpuUsage(before)
    turns.push((user + system) / 1000)
    before = process.threadCpuUsage()
    if (running) setImmediate(look)
  }
  setImmediate(look)
  try {
    await work()
    // What holds the last turn is only seen in the next one.
    await new Promise((resolve) => setTimeout(resolve, 5))
  } finally {
    running = false
  }
  return turns
}

/** Copies the write-ahead log into the file, which the rows that a test puts there would otherwise have the next commit do. */
export function emptyLog({ data_dir }: { readonly data_dir: string }): void {
  const db = new Database(join(data_dir, 'svc.db'))
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Everything that comes, in its order. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
