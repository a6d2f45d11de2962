// All attacks at once, each in a small size, delay no other user, and leave another user's work its time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inMostRounds } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { FAMILIES } from './attacks.ts'
import { type Attack, checkHolds, share, startFair } from './kit.ts'

/** Milliseconds of processor time: the limit of each single attack, and the garbage of all of them. */
const LONGEST_HOLD = 125

/** Each single attack has its own number of concurrent rounds. Here a hundred other attacks run as well. */
const MOST_SIDE_BY_SIDE = scaled(4)

function smallOf(attack: Attack): Attack {
  return { ...attack, side_by_side: Math.min(attack.side_by_side ?? 1, MOST_SIDE_BY_SIDE) }
}

test('all attacks at once do not hold the event loop', async () => {
  await using server = await startFair({ SVC_WS_RATE_LIMIT_DISABLED: '1', SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  const all = Object.values(FAMILIES).flatMap((attacks) => attacks.map((of) => smallOf(of(share(0.005)))))
  await inMostRounds(async () => {
    const figures = await server.under(all, () => true)
    checkHolds('all at once', figures, LONGEST_HOLD)
    for (const [name, { count }] of Object.entries(figures.answers)) assert.ok(count > 0, `${name} was not answered`)
  })
})
