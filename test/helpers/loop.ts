// Measures how long work blocks the event loop, on a machine that may be busy.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { mostMs } from './processor.ts'

/** How much a request may be delayed by background work, in milliseconds. */
const LIMIT_MS = 20
const ROUNDS = 8

/**
 * Fails where work blocks the event loop for more than 20 ms in each of several rounds. Only processor time of this thread counts, because
 * a busy processor or disk delays every process.
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

/** Returns the processor time of the longest turn of the event loop, in milliseconds. */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  return (await turnsOf(work)).reduce((longest, turn) => Math.max(longest, turn), 0)
}

/** Returns the processor time of each turn of the event loop until the work has ended, in milliseconds. */
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
    // A blocked last turn shows only in the next one.
    await new Promise((resolve) => setTimeout(resolve, 5))
  } finally {
    running = false
  }
  return turns
}

/** Copies the write-ahead log of a test's rows into the file. Otherwise the next commit would do so. */
export function emptyLog({ data_dir }: { readonly data_dir: string }): void {
  const db = new Database(join(data_dir, 'svc.db'))
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Collects all items, in order. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
