// Shares of owners in the thread's time: long work of one owner delays others by no more than a slice at a time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TimeSlice } from '../../../src/engine/runtime/time-slice.ts'
import type { Steps } from '../../../src/shared/time-slices.ts'
import { longestTurn } from '../../helpers/loop.ts'
import { inMostRounds } from '../../helpers/patience.ts'

const { signal } = new AbortController()

/** Works for so many milliseconds, in steps of one. */
function* busy(ms: number): Steps<number> {
  for (let step = 0; step < ms; step++) {
    const until = performance.now() + 1
    while (performance.now() < until);
    yield
  }
  return ms
}

/** The same, with a check of the time before each step, like code that sends large values to threads. */
async function handingOver(slice: TimeSlice, ms: number): Promise<void> {
  const steps = busy(ms)
  do await slice.waitForTurn()
  while (!steps.next().done)
}

const LONG = 400
const SHORT = 20
/** Far more than a slice, in milliseconds, and less than a step of each. */
const MOST_AT_ONCE = 40

const WAYS = {
  'in steps': (slice: TimeSlice, ms: number) => slice.runSteps(busy(ms), signal),
  'with promises': handingOver,
}

describe('long work of one owner', () => {
  for (const [mine, long] of Object.entries(WAYS))
    for (const [theirs, short] of Object.entries(WAYS))
      test(`${mine} lets short work of another one, ${theirs}, end before`, async () => {
        const ended: string[] = []
        const attacker = Array.from({ length: 5 }, () => new TimeSlice('attacker'))
        const all = attacker.map((slice) => long(slice, LONG / 5).then(() => ended.push('long')))
        await short(new TimeSlice('other'), SHORT)
        const before = ended.length
        await Promise.all(all)
        assert.ok(before <= 1, `${before} of the long ones ended before it`)
      })
})

test('a turn is no longer if much stepwise work waits for it', async () => {
  await inMostRounds(async () => {
    const longest = await longestTurn(async () => {
      const slices = Array.from({ length: 80 }, (_, at) => new TimeSlice(`owner ${at % 4}`))
      await Promise.all(slices.map((slice) => slice.runSteps(busy(10), signal)))
    })
    assert.ok(longest < MOST_AT_ONCE, `${longest} ms in one turn`)
  })
})

test('work ends with the reason of an aborted signal while it waits, and with its own error', async () => {
  const abort = new AbortController()
  const slice = new TimeSlice('one')
  const work = slice.runSteps(busy(100), abort.signal)
  abort.abort(new Error('enough'))
  await assert.rejects(work, /^Error: enough$/)
  function* broken(): Steps<void> {
    yield* busy(20)
    throw new Error('broken')
  }
  await assert.rejects(slice.runSteps(broken(), signal), /^Error: broken$/)
  assert.equal(await slice.runSteps(busy(20), signal), 20)
})
