// What many sockets are told at once holds up nobody.
import { test } from 'node:test'
import { followers, resuming } from './attacks/followers.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: what is told in one turn, and the garbage of it. */
const LONGEST_HOLD = 75

test('no number of sockets that are told the same holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of followers) await holdsLittle(server, of(share(0.2)), LONGEST_HOLD)
})

/** Milliseconds of the processor: the bytes of a frame of 47 MB are copied at once. */
const LONG_FRAME = 150

test('a long message under way that sockets come back to does not hold the event loop', async () => {
  await using server = await startFair()
  await holdsLittle(server, resuming(1), LONG_FRAME)
})
