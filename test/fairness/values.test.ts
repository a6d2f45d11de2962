// Large valid values delay no other user: as parameters, pushed into a job, as results, and read again.
import { test } from 'node:test'
import { values } from './attacks/values.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: slices, statements with the whole text of a value, and garbage. */
const LONGEST_HOLD = 75

test('no large value holds the event loop', async () => {
  await using server = await startFair()
  for (const of of values) {
    const attack = of(share(0.2))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
