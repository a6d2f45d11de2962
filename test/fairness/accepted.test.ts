// Large or frequent valid requests delay no other user: data that is stored, uploaded, run, removed and followed.
import { test } from 'node:test'
import { accepted } from './attacks/accepted.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: the requests in one turn of the event loop, statements with a whole text, and garbage. */
const LONGEST_HOLD = 75

test('no large or frequent valid request holds the event loop', async () => {
  await using server = await startFair({ SVC_WS_RATE_LIMIT_DISABLED: '1', SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of accepted) await holdsLittle(server, of(share(0.1)), LONGEST_HOLD)
})
