// Large values of a job that has ended hold up nobody when they are read again.
import { test } from 'node:test'
import { readings } from './attacks/reading.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: a slice, one read of the row of a job with its whole result, and garbage. */
const LONGEST_HOLD = 125

test('no large value that is read again holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of readings) {
    const attack = of(share(0.25))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
