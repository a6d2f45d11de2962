// The cost and the models in the result of a job.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelCost, ModelUsage } from '../../../src/engine/node-api/services/models.ts'
import { type CostEstimate, JobModelUsage } from '../../../src/jobs/run/model-usage.ts'
import { valid } from '../kit.ts'

const use = (model: string, cost: ModelCost | null): ModelUsage => ({ model, input_tokens: 1, output_tokens: 2, cost })
const cost = (amount: number, currency = 'USD', reported = true): ModelCost => ({ amount, currency, reported })

function spent(...uses: ModelUsage[]): JobModelUsage {
  const spending = new JobModelUsage()
  for (const one of uses) spending.add(one)
  return spending
}

function total(costs: (ModelCost | null)[], estimate: CostEstimate | null = null): unknown {
  const actual = spent(...costs.map((one) => use('p/m', one))).cost(estimate)
  if (actual) valid('CostActual', actual)
  return actual && [actual.amount, actual.currency, actual.estimated_amount, actual.reconciled]
}

describe('the cost of a job', () => {
  test('is null without calls, and where no call has a price', () => {
    assert.equal(total([]), null)
    assert.equal(total([null, null]), null)
    assert.equal(total([null], { amount: 1, currency: 'USD' }), null)
  })

  test('is the sum, without errors of binary fractions', () => {
    assert.deepEqual(total([cost(0.1), cost(0.2)]), [0.3, 'USD', null, true])
    assert.deepEqual(total([cost(2e-6), cost(1e-6)]), [0.000003, 'USD', null, true])
    assert.deepEqual(total(Array.from({ length: 10 }, () => cost(0.1))), [1, 'USD', null, true])
    assert.deepEqual(total([cost(0)]), [0, 'USD', null, true])
  })

  test('is given however small it is, and is null where it is not finite', () => {
    assert.deepEqual(total([cost(1e-14)]), [1e-14, 'USD', null, true])
    assert.deepEqual(total([cost(1e-14), cost(2e-14)]), [3e-14, 'USD', null, true])
    assert.deepEqual(total([cost(1e12), cost(0.25)]), [1e12, 'USD', null, true])
    assert.equal(total([cost(1e308), cost(1e308)]), null)
  })

  test('is reconciled where providers reported every part of it', () => {
    assert.deepEqual(total([cost(1), cost(2, 'USD', false)]), [3, 'USD', null, false])
    assert.deepEqual(total([cost(1), null]), [1, 'USD', null, false])
  })

  test('is null for several currencies, and a cost of 0 has no currency', () => {
    assert.equal(total([cost(1), cost(1, 'EUR')]), null)
    assert.deepEqual(total([cost(0), cost(1, 'EUR')]), [1, 'EUR', null, true])
    assert.deepEqual(total([cost(0), cost(0, 'EUR')]), [0, 'USD', null, true])
  })

  test('comes with its estimate, where that has the same currency', () => {
    assert.deepEqual(total([cost(1)], { amount: 2, currency: 'USD' }), [1, 'USD', 2, true])
    assert.deepEqual(total([cost(1)], { amount: 2, currency: 'EUR' }), [1, 'USD', null, true])
  })
})

test('models and their providers are listed once, in order', () => {
  const { models, providers } = spent(use('b/y/z', null), use('a/x', cost(1)), use('b/x', null), use('a/x', cost(2)))
  assert.deepEqual(models, ['a/x', 'b/x', 'b/y/z'])
  assert.deepEqual(providers, ['a', 'b'])
})

test('usage of one kind is summed up, so that many calls are few sums', () => {
  const spending = spent(
    ...Array.from({ length: 1_000 }, () => use('a/x', cost(0.5))),
    use('a/x', null),
    use('b/x', null),
  )
  assert.deepEqual(
    [...spending.uses],
    [{ model: 'a/x', input_tokens: 1_000, output_tokens: 2_000, cost: cost(500) }, use('a/x', null), use('b/x', null)],
  )
  const again = spent(...spending.uses)
  assert.deepEqual([again.cost(null), again.models], [spending.cost(null), spending.models])
})
