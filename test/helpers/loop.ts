// How long work holds the event loop, on a machine that may be busy with other things.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import Database from 'better-sqlite3'

/** What a request may feel of work in the background, in milliseconds. */
const LIMIT_MS = 20
const ROUNDS = 8

/**
 * Fails where work holds the event loop for more than 20 ms in each of several rounds: whatever else the machine does may hold it in one
 * of them. `prepare` makes the work of a round ready.
 */
export async function leavesLoopFree(prepare: () => Promise<() => Promise<void>>): Promise<void> {
  const found: number[] = []
  while (found.length < ROUNDS) {
    const work = await prepare()
    const longest = await longestDelay(work)
    if (longest < LIMIT_MS) return
    found.push(Math.round(longest))
  }
  assert.fail(`the event loop was held for ${found.join(', ')} ms`)
}

async function longestDelay(work: () => Promise<void>): Promise<number> {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  await new Promise((resolve) => setTimeout(resolve, 5))
  histogram.enable()
  await work()
  // What holds the last turn is only seen in the next one.
  await new Promise((resolve) => setTimeout(resolve, 5))
  histogram.disable()
  return histogram.max / 1e6
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
