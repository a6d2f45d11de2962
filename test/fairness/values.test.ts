// Large values that are right hold up nobody: as parameters, pushed into a job, as results, and read again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { values } from './attacks/values.ts'
import { share, startFair } from './kit.ts'

/** Milliseconds of the processor: slices, statements with the whole text of a value, and garbage. */
const LONGEST_HOLD = 75

test('no large value holds the event loop', async () => {
  await using server = await startFair()
  for (const of of values) {
    const attack = of(share(0.2))
    await inSomeRound(async () => {
      const { held } = await server.under([attack], () => true)
      assert.ok(held < LONGEST_HOLD, `${attack.name}: held for ${held} ms`)
    })
  }
})
