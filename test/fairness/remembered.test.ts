// Jobs with large stored values, or very many changes of properties, delay no other user when they continue or are retried.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { changed, largeValues } from './attacks/remembered.ts'
import { holdsLittle, share, startFair } from './kit.ts'

/** Milliseconds of processor time: slices, statements with the whole text of a value, and garbage. */
const LONGEST_HOLD = 75

test('no job that remembers large values holds the event loop when it goes on', async () => {
  await using server = await startFair()
  for (const of of largeValues) {
    const attack = of(share(1))
    await inSomeRound(async () => {
      const { held } = await server.holdsOf(attack)
      assert.ok(held < LONGEST_HOLD, `${attack.name}: held for ${held} ms`)
    })
  }
})

/** As above, with the parsing of pages with many names. */
const LONGEST_HOLD_OF_NAMES = 150

test('no job whose properties were changed very often holds the event loop when it goes on', async () => {
  await using server = await startFair()
  await holdsLittle(server, changed(share(0.25)), LONGEST_HOLD_OF_NAMES)
})
