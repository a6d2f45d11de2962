// Many small frames and requests at once hold up nobody, on however many sockets they come.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { frames } from './attacks/frames.ts'
import { share, startFair } from './kit.ts'

/** Milliseconds of the processor: a slice of eight, the command that begins within it, and the reading of what came. */
const LONGEST_HOLD = 75

test('no number of small frames or requests holds the event loop', async () => {
  await using server = await startFair({ SVC_WS_RATE_LIMIT_DISABLED: '1' })
  for (const of of frames) {
    const attack = of(share(0.2))
    await inSomeRound(async () => {
      const { held } = await server.under([attack], () => true)
      assert.ok(held < LONGEST_HOLD, `${attack.name}: held for ${held} ms`)
    })
  }
})
