// Large bodies and frames hold up nobody, whatever is wrong with them.
import { test } from 'node:test'
import { bodies } from './attacks/bodies.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of the processor: a slice of five, twice, and the garbage of what was parsed. */
const LONGEST_HOLD = 75

test('no large body or frame holds the event loop', async () => {
  await using server = await startFair()
  for (const of of bodies) {
    const attack = of(share(0.1))
    await holdsLittle(server, attack, LONGEST_HOLD)
  }
})
