// Tolerance for busy machines: tests wait long, extend time limits, and count only their own processor time.
import assert from 'node:assert/strict'
import { mostMs, settledMs } from './processor.ts'

/**
 * How long a test waits for an expected event, in milliseconds. It only limits failing tests, and says nothing about the service's speed.
 */
export const PATIENCE_MS = 60_000

const ROUNDS = 4
const LONGER = 4

/**
 * Runs `attempt` with a time limit in milliseconds. After a failure it runs again with four times the
 * limit, up to the fourth round. It serves tests that must finish before a limit. A busy machine
 * delays some rounds, but a defect fails all of them. The last error is thrown.
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

/** Repeats a failing `attempt` for some rounds. A turn that is cut short may spoil one round, but a defect fails all of them. */
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
 * Runs `attempt` until it has passed in the first two rounds, or in three, or has failed in three. The last error is thrown. Where the
 * first two rounds disagree, the majority of five counts. A busy machine spoils some rounds, a defect most of them.
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
 * Fails where `work` takes `limit_ms` milliseconds or more in each of some rounds. Only processor time of
 * this thread counts. Other processes may still slow it down through caches and memory. Reference work in
 * the same round is slower then as well, and the limit grows by the same factor.
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
 * Fails where `measure` returns `limit` or more, in milliseconds or bytes, in each of some rounds. A busy machine makes some rounds slow,
 * or leaves garbage in them, but not in all.
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
