// Large files delay no other user.
import { test } from 'node:test'
import { files } from './attacks/files.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a part of a file, and the garbage of all parts. */
const LONGEST_HOLD = 40

test('no large file holds the event loop', async () => {
  await using server = await startFair()
  for (const of of files) await holdsLittle(server, of(share(1)), LONGEST_HOLD)
})
