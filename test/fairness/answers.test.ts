// Long answers of models delay no other user.
import { test } from 'node:test'
import { answers } from './attacks/answers.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: a piece of an answer, and the garbage of all of it. */
const LONGEST_HOLD = 75

test('no answer of a model holds the event loop', async () => {
  await using server = await startFair()
  for (const of of answers) await holdsLittle(server, of(share(1)), LONGEST_HOLD)
})
