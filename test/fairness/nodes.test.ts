// Workflows whose nodes have much to do hold up nobody.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { nodes } from './attacks/nodes.ts'
import { share, startFair } from './kit.ts'

/** Milliseconds of the processor: slices of runs, pieces of values, the parameters and the results of jobs, and garbage. */
const LONGEST_HOLD = 75

test('no work of nodes holds the event loop', async () => {
  await using server = await startFair()
  for (const of of nodes) {
    const attack = of(share(0.04))
    await inSomeRound(async () => {
      const { held } = await server.under([attack], () => true)
      assert.ok(held < LONGEST_HOLD, `${attack.name}: held for ${held} ms`)
    })
  }
})
