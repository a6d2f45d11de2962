// Tools of chats and agents delay no other user.
import { test } from 'node:test'
import { tools } from './attacks/tools.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a step of the search, and the garbage of all of it. */
const LONGEST_HOLD = 75

test('no tools of a chat or an agent hold the event loop', async () => {
  await using server = await startFair()
  for (const of of tools) await holdsLittle(server, of(share(1)), LONGEST_HOLD)
})
