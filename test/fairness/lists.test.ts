// Lists of workflows, and what is derived from large ones, hold up nobody.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { lists } from './attacks/lists.ts'
import { share, startFair } from './kit.ts'

/** Milliseconds of the processor: a slice of five, twice, and the garbage of what was read. */
const LONGEST_HOLD = 75

for (const of of lists) {
  const attack = of(share(0.2))
  test(`${attack.name}: the event loop has its turns`, async () => {
    await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
    await inSomeRound(async () => {
      const { held } = await server.under([attack], () => true)
      assert.ok(held < LONGEST_HOLD, `held for ${held} ms`)
    })
  })
}
