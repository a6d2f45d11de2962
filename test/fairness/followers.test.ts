// Data for many sockets at once delays no other user.
import { test } from 'node:test'
import { followers, resuming } from './attacks/followers.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: the frames of one turn, and their garbage. */
const LONGEST_HOLD = 75

test('no number of sockets that get the same frames holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of followers) await holdsLittle(server, of(share(0.2)), LONGEST_HOLD)
})

/** Milliseconds of processor time: the bytes of a frame of 47 MB are copied at once. */
const LONG_FRAME = 150

test('sockets that reconnect to a long unfinished message do not hold the event loop', async () => {
  await using server = await startFair()
  await holdsLittle(server, resuming(1), LONG_FRAME)
})
