// What tests do about machines that are busy with other things: they wait long, give more time, and count only their own work.
import assert from 'node:assert/strict'
import { mostMs, settledMs } from './processor.ts'

/** How long a test waits for what must come, in milliseconds. It says when to give up, and nothing about how fast the service is. */
export const PATIENCE_MS = 60_000

const ROUNDS = 4
const LONGER = 4

/**
 * Runs `attempt` with a limit of time, in milliseconds; where it fails, again with a limit four times as long, up to the fourth round. For what
 * has to happen before a limit passes: a busy machine delays it now and then, and a defect fails every round, the last error being told.
 */
export async function withMoreTime<T>(limit_ms: number, attempt: (limit_ms: number) => Promise<T>): Promise<T> {
  for (let round = 1; round < ROUNDS; round++) {
    try {
      return await attempt(limit_ms)
    } catch {
      limit_ms *= LONGER
    }
  }
  return attempt(limit_ms)
}

/** Runs `attempt` once more where it fails, up to some rounds: for what a turn that was cut short by the clock may spoil once, and a defect each time. */
export async function inSomeRound(attempt: () => Promise<void>): Promise<void> {
  for (let round = 1; round < 2 * ROUNDS; round++) {
    try {
      return await attempt()
    } catch {}
  }
  return attempt()
}

const MOST = 3

/**
 * Runs `attempt` until it has passed in the first two rounds, or in three, or has failed in three, the last error being told: where the first two do not
 * agree, the middle of five counts. For what a busy machine spoils now and then, and a defect in most rounds.
 */
export async function inMostRounds(attempt: () => Promise<void>): Promise<void> {
  for (let [passed, failed] = [0, 0]; passed < MOST && passed - failed < 2; ) {
    try {
      await attempt()
      passed++
    } catch (error) {
      if (++failed === MOST) throw error
    }
  }
}

/**
 * Fails where `work` takes `limit_ms` milliseconds or more in each of some rounds. Only processor time of this thread counts: a machine that others
 * keep busy makes everything late, and nothing more work. Where even that is slower, since others use the caches and the memory, the bare work
 * that follows in the same round is slower as well, and the limit is as many times longer.
 */
export async function takesLess(limit_ms: number, work: () => unknown): Promise<void> {
  const found: string[] = []
  while (found.length < ROUNDS) {
    const took = await settledMs(work)
    const limit = mostMs(took, limit_ms)
    if (took < limit) return
    found.push(`${Math.round(took)} of ${Math.round(limit)}`)
  }
  assert.fail(`it took too long in each round, in milliseconds of the processor: ${found.join(', ')}`)
}

/**
 * Fails where what `measure` finds, milliseconds or bytes, is `limit` or more in each of some rounds. For what follows at once, or keeps little:
 * a busy machine makes one round slow, or leaves it the garbage of others, and not all of them.
 */
export async function belowInSome(limit: number, measure: () => Promise<number>): Promise<void> {
  const found: number[] = []
  while (found.length < 2 * ROUNDS) {
    const one = await measure()
    if (one < limit) return
    found.push(Math.round(one))
  }
  assert.fail(`it was ${found.join(', ')}: each time ${limit} or more`)
}
