// Cancelling at any moment, over random graphs: the run settles within five seconds, nothing fires afterwards, and no generator stays open.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HandClock, until } from './kit.ts'
import { Builder, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { MANNERS } from './random-types.ts'
import { holds, limits, scale, type Trial, tried } from './random-verdict.ts'

/** When to cancel: after so many firings have begun, or so many turns of the event loop. */
const moments = fc.record({ by: fc.constantFrom('firings', 'turns'), count: fc.nat(25) })

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

/** Cancels at the moment, or at the end of the run if that comes first. */
async function cancelAt({ abort, execution, ledger }: Trial, by: string, count: number): Promise<void> {
  if (by === 'turns') await turns(count)
  else for (let left = 100; left > 0 && ledger.total < count && !execution.outcome; left--) await turns(1)
  abort.abort()
}

describe('cancel at any moment', () => {
  test('the run settles within five seconds, nothing fires afterwards and no generator stays open', async () => {
    const steps = [...MIXES.all, 'Expand', 'Add', 'Add', 'Need']
    const seen = { cancelled: 0, late: 0, deaf: 0 }
    const cases = fc.tuple(recipes(steps, 15, [...MANNERS, 'deaf']), limits, moments)
    await holds(cases, 1000, async ([recipe, limit, { by, count }]) => {
      const clock = new HandClock()
      let atAbort = -1
      const trial = tried(new Builder(recipe), { ...limit, clock }, ({ ledger, abort }) => {
        abort.signal.addEventListener('abort', () => {
          atAbort = ledger.total
        })
        if (by === 'firings') ledger.onFire = () => ledger.total === count && abort.abort()
      })
      const { execution, ledger, observer } = trial
      await cancelAt(trial, by, count)
      await turns(3)
      if (!execution.outcome) seen.deaf++
      clock.turn(5000)
      await turns(1)
      assert.ok(execution.outcome, 'the run has not settled')
      assert.equal((await execution.done).status, execution.outcome.status)
      const { status } = execution.outcome
      const calls = observer.calls.length
      ledger.release()
      await until(() => ledger.open === 0, 'firings that are still open')
      await turns(1)
      if (status === 'cancelled') assert.equal(ledger.total, atAbort, 'a firing began after the cancel')
      assert.equal(observer.calls.length, calls, 'something was told after the run had settled')
      assert.equal(clock.sleepers.size, 0, 'a timer is left')
      seen[status === 'cancelled' ? 'cancelled' : 'late']++
    })
    assert.ok(seen.cancelled > 200 * scale && seen.deaf > 50 * scale, JSON.stringify(seen))
  })
})
