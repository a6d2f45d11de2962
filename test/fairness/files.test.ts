// Large files hold up nobody.
import { test } from 'node:test'
import { files } from './attacks/files.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: a part of a file, and the garbage of all of them. */
const LONGEST_HOLD = 40

test('no large file holds the event loop', async () => {
  await using server = await startFair()
  for (const of of files) await holdsLittle(server, of(share(1)), LONGEST_HOLD)
})
