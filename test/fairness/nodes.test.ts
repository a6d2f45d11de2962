// Workflows with expensive nodes delay no other user.
import { test } from 'node:test'
import { nodes } from './attacks/nodes.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: slices of runs, parts of values, the parameters and the results of jobs, and garbage. */
const LONGEST_HOLD = 75

test('no work of nodes holds the event loop', async () => {
  await using server = await startFair()
  for (const of of nodes) {
    const attack = of(share(0.04))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
