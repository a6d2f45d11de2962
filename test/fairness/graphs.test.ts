// Large graphs hold up nobody: stored, read and run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { graphs } from './attacks/graphs.ts'
import { share, startFair } from './kit.ts'

/** Milliseconds of the processor: slices of runs and of requests, statements with the whole graph, and garbage. */
const LONGEST_HOLD = 75

test('no large graph holds the event loop', async () => {
  await using server = await startFair()
  for (const of of graphs) {
    const attack = of(share(0.1))
    await inSomeRound(async () => {
      const { held } = await server.under([attack], () => true)
      assert.ok(held < LONGEST_HOLD, `${attack.name}: held for ${held} ms`)
    })
  }
})
