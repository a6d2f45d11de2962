// What many sockets are told at once holds up nobody.
import { test } from 'node:test'
import { followers } from './attacks/followers.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: what is told in one turn, and the garbage of it. */
const LONGEST_HOLD = 75

test('no number of sockets that are told the same holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of followers) await holdsLittle(server, of(share(0.4)), LONGEST_HOLD)
})
