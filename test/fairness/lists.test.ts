// Lists of workflows, and what is derived from large ones, hold up nobody.
import { test } from 'node:test'
import { lists } from './attacks/lists.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: a slice of five, twice, and the garbage of what was read. */
const LONGEST_HOLD = 75

test('no list and nothing that is derived from large workflows holds the event loop', async () => {
  await using server = await startFair({ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' })
  for (const of of lists) await holdsLittle(server, of(share(0.2)), LONGEST_HOLD)
})
