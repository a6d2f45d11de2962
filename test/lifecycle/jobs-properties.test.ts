// Tests random interleavings of submissions, subscriptions, cancellations and lost connections, with the server killed or stopped in
// between. No acknowledged job is lost, a key has one job, and a job has one history for all clients at all times.
import { test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../helpers/scale.ts'
import { CLIENTS, type Step, World } from './jobs-world.ts'

const small = (max: number) => fc.nat(max)
const client = small(CLIENTS - 1)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      key: small(4),
      variant: small(1),
      door: small(CLIENTS),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('subscribe' as const), client, job: small(4), back: small(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), job: small(4), door: small(CLIENTS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reconnect' as const), client }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('open' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turns' as const), count: small(8) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), orderly: fc.boolean() }) },
)

test('jobs have one history, whatever clients do and whenever the server dies', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
      await using world = await World.create()
      for (const one of steps) await world.take(one)
      await world.settle()
    }),
    { numRuns: scaled(3), endOnFailure: true },
  )
})
