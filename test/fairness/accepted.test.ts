// What is right and large, or comes often, holds up nobody: stored, uploaded, run, removed and followed.
import { test } from 'node:test'
import { accepted } from './attacks/accepted.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: the requests that one turn of the event loop finds, statements with a whole text, and garbage. */
const LONGEST_HOLD = 75

test('nothing that is right and large, or comes often, holds the event loop', async () => {
  await using server = await startFair({ SVC_WS_RATE_LIMIT_DISABLED: '1', SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of accepted) await holdsLittle(server, of(share(0.1)), LONGEST_HOLD)
})
