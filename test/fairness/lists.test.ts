// Lists of workflows, and data derived from large ones, delay no other user.
import { test } from 'node:test'
import { lists } from './attacks/lists.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: two slices of five, and the garbage of the read data. */
const LONGEST_HOLD = 75

test('no list of large workflows, and no data derived from them, holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of lists) await holdsLittle(server, of(share(0.2)), LONGEST_HOLD)
})
