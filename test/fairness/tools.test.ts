// Tools of chats and agents hold up nobody.
import { test } from 'node:test'
import { tools } from './attacks/tools.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: a step of what is looked through, and the garbage of all of it. */
const LONGEST_HOLD = 75

test('no tools of a chat or an agent hold the event loop', async () => {
  await using server = await startFair()
  for (const of of tools) await holdsLittle(server, of(share(1)), LONGEST_HOLD)
})
