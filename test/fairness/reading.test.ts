// Reading large values of an ended job delays no other user.
import { test } from 'node:test'
import { readings } from './attacks/reading.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a slice, one read of a job's row with its whole result, and garbage. */
const LONGEST_HOLD = 125

test('no large stored value holds the event loop when it is read', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of readings) {
    const attack = of(share(0.25))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
