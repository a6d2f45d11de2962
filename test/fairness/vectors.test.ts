// Storing and searching vectors delays no other user.
import { test } from 'node:test'
import { vectors } from './attacks/vectors.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: slices, entries that are written in one unit, the parameters of jobs, and garbage. */
const LONGEST_HOLD = 75

test('no index of vectors holds the event loop', async () => {
  await using server = await startFair()
  for (const of of vectors) {
    const attack = of(share(0.8))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
