// list.Statistics and math.* of samples and pairs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { scaled } from '../helpers/scale.ts'
import { fire, outputOf } from './fire.ts'

const near = (actual: unknown, expected: number, error = 1e-9) =>
  assert.ok(
    Math.abs((actual as number) - expected) <= error * Math.max(1, Math.abs(expected)),
    `${actual} ≈ ${expected}`,
  )

describe('list.Statistics', () => {
  const of = (list: unknown) => fire('list.Statistics', { list })

  test('sums exactly, also where naive addition loses digits', async () => {
    assert.deepEqual(await of([3, 1, 2]), {
      sum: 6,
      count: 3,
      mean: 2,
      min: 1,
      max: 3,
      median: 2,
      variance: 1,
      deviation: 1,
    })
    assert.equal((await of([2, 4, 4, 4, 5, 5, 7, 9])).variance, 32 / 7)
    assert.equal((await of([1, 1e100, 1, -1e100])).sum, 2)
    assert.equal((await of(Array(10).fill(0.1))).sum, 1)
    assert.equal((await of([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])).variance, 30)
    assert.equal((await of([1e200, 3e200])).deviation, Math.SQRT2 * 1e200)
    assert.equal((await of([1e200, 3e200])).variance, undefined)
    assert.equal((await of([5, 5, 5])).deviation, 0)
  })

  test('gives the known values for one number, and for none', async () => {
    assert.deepEqual(await of([7]), { sum: 7, count: 1, mean: 7, min: 7, max: 7, median: 7 })
    assert.deepEqual(await of([]), { sum: 0, count: 0 })
  })

  test('refuses values that are not numbers, and sums that overflow', async () => {
    await assert.rejects(of([1, 'x']), /expected list\[float\], got a list with other values/)
    await assert.rejects(of([1e308, 1e308]), /not_finite: The sum is Infinity/)
    await assert.rejects(of([1e308, 1e308, -1e308]), /not_finite: The sum is Infinity/)
  })

  test('agrees with the plain formulas', async () => {
    const numbers = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 2, maxLength: 50 })
    const property = fc.asyncProperty(numbers, async (list) => {
      const found = await of(list)
      const mean = list.reduce((sum, one) => sum + one, 0) / list.length
      near(found.mean, mean, 1e-8)
      near(found.variance, list.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (list.length - 1), 1e-6)
      assert.equal(found.median, await outputOf('math.Quantile', { list }))
    })
    await fc.assert(property, { numRuns: scaled(50) })
  })
})

test('math.Quantile', async () => {
  const of = (list: unknown, q?: number) => outputOf('math.Quantile', { list, ...(q === undefined ? {} : { q }) })
  assert.equal(await of([4, 1, 3, 2]), 2.5)
  assert.equal(await of([10, 9, 100], 0), 9)
  assert.equal(await of([10, 9, 100], 1), 100)
  assert.equal(await of([1, 2, 3, 4, 5], 0.9), 4.6)
  assert.equal(await of([-1.7e308, 1.7e308]), 0)
  assert.equal(await of([]), undefined)
  await assert.rejects(of([1], 1.5), /must be at most 1/)
  await assert.rejects(of(['a']), /type_mismatch/)
})

test('math.Correlation', async () => {
  const of = (x: number[], y: number[], method = 'pearson') => outputOf('math.Correlation', { x, y, method })
  near(await of([1, 2, 3], [2, 4, 6]), 1)
  near(await of([1, 2, 3], [6e300, 4e300, 2e300]), -1)
  near(await of([1, 2, 3, 4], [1, 3, 2, 4]), 0.8)
  near(await of([1, 2, 3, 4], [1, 10, 100, 1000]), 1543.5 / Math.sqrt(5 * 701_520.75))
  near(await of([1, 2, 3, 4], [1, 10, 100, 1000], 'spearman'), 1)
  near(await of([1, 2, 2, 3], [1, 2, 3, 4], 'spearman'), 0.9486832980505138)
  await assert.rejects(of([], []), /bad_input: At least 2 pairs of numbers are needed, but there are 0/)
  await assert.rejects(of([1, 2], [1]), /x has 2 numbers and y has 1/)
  await assert.rejects(of([1, 2], [3, 3]), /All numbers of y are the same/)
})

describe('math.LinearRegression', () => {
  const of = (x: number[], y: number[]) => fire('math.LinearRegression', { x, y })

  test('fits lines', async () => {
    assert.deepEqual(await of([1, 2, 3], [3, 5, 7]), { slope: 2, intercept: 1, r_squared: 1 })
    assert.deepEqual(await of([1, 2], [4, 4]), { slope: 0, intercept: 4, r_squared: 1 })
    const { slope, intercept, r_squared } = await of([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    near(slope, 0.6)
    near(intercept, 2.2)
    near(r_squared, 0.6)
  })

  test('refuses points that determine no line', async () => {
    await assert.rejects(of([], []), /At least 2 pairs/)
    await assert.rejects(of([1, 1], [1, 2]), /All numbers of x are the same/)
    await assert.rejects(of([1, 2], [1]), /x has 2 numbers and y has 1/)
  })

  test('finds exact lines, also far from zero', async () => {
    const whole = fc.integer({ min: -1000, max: 1000 })
    const places = fc.uniqueArray(fc.integer({ min: -1000, max: 1000 }), { minLength: 2, maxLength: 30 })
    const property = fc.asyncProperty(places, whole, whole, whole, async (x, slope, intercept, far) => {
      const at = x.map((one) => one + far * 1e6)
      const found = await of(
        at,
        at.map((one) => one * slope + intercept),
      )
      near(found.slope, slope, 1e-9)
      near(found.intercept, intercept, 1e-3)
      near(found.r_squared, 1)
    })
    await fc.assert(property, { numRuns: scaled(50) })
  })
})

describe('math.Histogram', () => {
  const of = (list: unknown, data = {}) => fire('math.Histogram', { list, ...data })
  const counts = (made: { output?: unknown }) => (made.output as { count: number }[]).map(({ count }) => count)

  test('counts by bins', async () => {
    assert.deepEqual(await of([1, 2, 2.5, 4], { bins: 3 }), {
      output: [
        { from: 1, to: 2, count: 1 },
        { from: 2, to: 3, count: 2 },
        { from: 3, to: 4, count: 1 },
      ],
      outside: 0,
    })
    const ranged = await of([-5, 0, 5, 10, 15], { bins: 2, min: 0, max: 10 })
    assert.deepEqual([counts(ranged), ranged.outside], [[1, 2], 2])
    assert.deepEqual(counts(await of([7, 7], { bins: 2 })), [0, 2])
    assert.deepEqual(counts(await of([-1.7e308, 0, 1.7e308], { bins: 2 })), [1, 2])
  })

  test('accepts an empty list, and refuses a reversed range', async () => {
    assert.deepEqual(await of([]), { output: [], outside: 0 })
    assert.deepEqual(counts(await of([], { bins: 2, min: 0, max: 1 })), [0, 0])
    await assert.rejects(of([1], { min: 5, max: 1 }), /bad_input: The least number, 5, is greater than the greatest, 1/)
    await assert.rejects(of([1], { bins: 0 }), /must be at least 1/)
  })

  test('counts every number, wherever the edges are', async () => {
    const numbers = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 40 })
    const property = fc.asyncProperty(numbers, fc.integer({ min: 1, max: 60 }), async (list, bins) => {
      const made = await of(list, { bins })
      assert.equal(
        counts(made).reduce((sum, count) => sum + count, 0),
        list.length,
      )
    })
    await fc.assert(property, { numRuns: scaled(50) })
  })
})
