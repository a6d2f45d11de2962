// Large bodies and frames delay no other user, whatever their errors.
import { test } from 'node:test'
import { bodies } from './attacks/bodies.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: two slices of five, and the garbage of the parsed body. */
const LONGEST_HOLD = 75

test('no large body or frame holds the event loop', async () => {
  await using server = await startFair()
  for (const of of bodies) {
    const attack = of(share(0.1))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
