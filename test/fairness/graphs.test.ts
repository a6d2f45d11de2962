// Large graphs that are stored, read and run delay no other user.
import { test } from 'node:test'
import { graphs } from './attacks/graphs.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: slices of runs and of requests, statements with the whole graph, and garbage. */
const LONGEST_HOLD = 75

test('no large graph holds the event loop', async () => {
  await using server = await startFair()
  for (const of of graphs) {
    const attack = of(share(0.1))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
