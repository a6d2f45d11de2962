// Workflows whose nodes have much to do hold up nobody.
import { test } from 'node:test'
import { nodes } from './attacks/nodes.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: slices of runs, pieces of values, the parameters and the results of jobs, and garbage. */
const LONGEST_HOLD = 75

test('no work of nodes holds the event loop', async () => {
  await using server = await startFair()
  for (const of of nodes) {
    const attack = of(share(0.04))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
