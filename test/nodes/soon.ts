// Checks the time of one firing.
import assert from 'node:assert/strict'

/**
 * In milliseconds of this thread's work: several times the expected work, and far less than unbounded work. Other work of the machine does
 * not count.
 */
const SOON = 2000

/** Fails if the work takes long, and returns its result. */
export async function soon<Result>(work: () => Promise<Result>): Promise<Result> {
  const before = process.threadCpuUsage()
  try {
    return await work()
  } finally {
    const { user, system } = process.threadCpuUsage(before)
    const took = Math.round((user + system) / 1000)
    assert.ok(took < SOON, `It took ${took} ms.`)
  }
}
