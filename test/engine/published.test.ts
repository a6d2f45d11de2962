// How much a run may hand out: the result of a job is one row of the database, which is written and read at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../src/engine/plan.ts'
import { Published } from '../../src/engine/published.ts'

/** How many times a value may be handed out. */
function times(value: unknown): number {
  const published = new Published({ outputs: [{ name: 'out' }] } as unknown as Plan)
  for (let count = 0; ; count++) {
    try {
      published.weigh(value)
    } catch (error) {
      const { type, message } = error as Error & { type: string }
      assert.deepEqual([type, /more than 32 million bytes together/.test(message)], ['too_large', true])
      return count
    }
  }
}

test('the outputs of a run have at most 32 million bytes together, whatever they are written with', () => {
  const counts = ['x', 'é', '文', '😀'].map((one) => times(one.repeat(1_000_000 / one.length)))
  assert.deepEqual(counts, [32, 16, 10, 16])
  const many = (one: string) => ({
    [one]: Array(10_000).fill(`${one}${'x'.repeat(40)}`),
    short: Array(10_000).fill(one),
  })
  assert.ok(times(many('x')) > times(many('文')))
})
