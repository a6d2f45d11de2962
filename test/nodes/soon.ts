// Holds what one firing may cost.
import assert from 'node:assert/strict'

/**
 * Milliseconds of this thread at work: some times what the work takes, and far from what it would take without a bound. What else the machine
 * does meanwhile is not its fault.
 */
const SOON = 2000

/** Fails where the work takes long, and gives what comes of it. */
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
