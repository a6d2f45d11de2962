// Forty concurrent readers of one user delay no other user, whatever they read.
import { test } from 'node:test'
import { many } from './attacks/many.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: the slices of requests, of readers and of runs, and garbage. */
const LONGEST_HOLD = 75

test('forty readers at once do not hold the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1', SVC_WS_RATE_LIMIT_DISABLED: '1' })
  for (const of of many) await holdsLittle(server, of(share(0.05)), LONGEST_HOLD)
})
