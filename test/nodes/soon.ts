// Holds what one firing may cost.
import assert from 'node:assert/strict'

/** Milliseconds: some times what the work takes on a quiet machine, and far from what it would take without a bound. */
const SOON = 2000

/** Fails where the work takes long, and gives what comes of it. */
export async function soon<Result>(work: () => Promise<Result>): Promise<Result> {
  const from = performance.now()
  try {
    return await work()
  } finally {
    const took = Math.round(performance.now() - from)
    assert.ok(took < SOON, `It took ${took} ms.`)
  }
}
