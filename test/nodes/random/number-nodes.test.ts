// random.*: pinned values check that the generator gives the same numbers on every machine and in every version.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RandomGenerator } from '../../../src/nodes/random/generator.ts'
import { edge, graph, node, outputs, run, sink } from '../../engine/kit.ts'
import { fire, outputOf } from '../fire.ts'

function drawn<Value>(count: number, draw: () => Value): Value[] {
  return Array.from({ length: count }, draw)
}

describe('the generator', () => {
  test('gives the same numbers for the same seed', () => {
    const PINNED: [number, number[]][] = [
      [0, [4157130394, 2739643012, 4203259395, 2067648976]],
      [1, [429982570, 3165276030, 2359996999, 3742159273]],
      [-1, [89959695, 847379018, 4024864335, 2022780368]],
      [2 ** 40, [467142513, 956821694, 3827722418, 3424860806]],
      [2 ** 53 - 1, [1375461774, 4002478053, 3472951141, 65341553]],
    ]
    for (const [seed, numbers] of PINNED) {
      const source = new RandomGenerator(seed)
      assert.deepEqual(
        drawn(4, () => source.next()),
        numbers,
      )
    }
  })

  test('is uniform over the whole range', () => {
    const source = new RandomGenerator(5)
    const counts = new Array<number>(6).fill(0)
    for (const face of drawn(60_000, () => source.integerBelow(6))) counts[face]!++
    for (const count of counts) assert.ok(Math.abs(count - 10_000) < 500, String(counts))
    const wide = drawn(1000, () => source.integerBelow(2 ** 53))
    assert.ok(wide.some((one) => one > 2 ** 52) && wide.some((one) => one % 2 === 1))
    assert.ok(wide.every((one) => Number.isSafeInteger(one) && one >= 0))
    assert.deepEqual(
      drawn(3, () => source.integerBelow(1)),
      [0, 0, 0],
    )
    const units = drawn(10_000, () => source.fraction())
    assert.ok(units.every((one) => one >= 0 && one < 1))
    assert.ok(Math.abs(units.reduce((sum, one) => sum + one, 0) / units.length - 0.5) < 0.02)
  })

  test('has a normal distribution with its mean, deviation and tails', () => {
    const source = new RandomGenerator(3)
    const values = drawn(100_000, () => source.normal())
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length
    const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / values.length
    assert.ok(Math.abs(mean) < 0.02 && Math.abs(variance - 1) < 0.02, `${mean} ${variance}`)
    const beyond = values.filter((one) => Math.abs(one) > 2).length / values.length
    assert.ok(Math.abs(beyond - 0.0455) < 0.005, String(beyond))
    assert.ok(values.some((one) => Math.abs(one) > 3.5))
  })
})

describe('random', () => {
  test('Integer', async () => {
    assert.equal(await outputOf('random.Integer', { min: 1, max: 1000, seed: 7 }), 918)
    assert.equal(await outputOf('random.Integer', { min: 4, max: 4 }), 4)
    const any = (await outputOf('random.Integer')) as number
    assert.ok(Number.isInteger(any) && any >= 0 && any <= 100)
    await assert.rejects(outputOf('random.Integer', { min: 2, max: 1 }), /bad_input: max is 1, which is less/)
    const far = outputOf('random.Integer', { min: -(2 ** 53 - 1), max: 2 ** 53 - 1 })
    await assert.rejects(far, /bad_input: For whole numbers, min and max must be/)
    await assert.rejects(outputOf('random.Integer', { seed: 1.5 }), /type_mismatch/)
  })

  test('Float', async () => {
    assert.equal(await outputOf('random.Float', { min: -1, max: 1, seed: 7 }), -0.3250244693244795)
    assert.equal(await outputOf('random.Float', { min: 3, max: 3 }), 3)
    const any = (await outputOf('random.Float')) as number
    assert.ok(any >= 0 && any < 1)
    await assert.rejects(outputOf('random.Float', { min: 1, max: 0 }), /bad_input/)
    await assert.rejects(outputOf('random.Float', { min: -1e308, max: 1e308 }), /not_finite/)
  })

  test('Normal', async () => {
    assert.equal(await outputOf('random.Normal', { mean: 10, deviation: 2, seed: 7 }), 9.412938667288413)
    assert.equal(await outputOf('random.Normal', { mean: 5, deviation: 0 }), 5)
    await assert.rejects(outputOf('random.Normal', { deviation: -1 }), /must be at least 0/)
    await assert.rejects(outputOf('random.Normal', { mean: 1.79e308, deviation: 1.79e308, seed: 0 }), /not_finite/)
  })

  test('Choice', async () => {
    const list = ['a', 'b', 'c']
    assert.deepEqual(await fire('random.Choice', { list, seed: 7 }), { output: 'c', index: 2 })
    assert.deepEqual(await fire('random.Choice', { list, weights: [0, 1, 0] }), { output: 'b', index: 1 })
    await assert.rejects(fire('random.Choice', { list: [] }), /bad_input: The list is empty/)
    await assert.rejects(fire('random.Choice', { list, weights: [1] }), /There are 1 weights for 3 items/)
    await assert.rejects(fire('random.Choice', { list, weights: [0, 0, 0] }), /All weights are 0/)
    await assert.rejects(fire('random.Choice', { list, weights: [1, -1, 1] }), /A weight is negative/)
    const counts = { a: 0, b: 0 }
    for (let seed = 0; seed < 300; seed++) {
      const { output } = await fire('random.Choice', { list: ['a', 'b'], weights: [1, 3], seed })
      counts[output as 'a' | 'b']++
    }
    assert.ok(counts.a > 45 && counts.a < 105, String(counts.a))
  })

  test('Sample', async () => {
    const list = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert.deepEqual(await outputOf('random.Sample', { list, count: 4, seed: 11 }), [3, 6, 7, 9])
    assert.deepEqual(await outputOf('random.Sample', { list, count: 9 }), list)
    assert.deepEqual(await outputOf('random.Sample', { list: [], count: 0 }), [])
    await assert.rejects(
      outputOf('random.Sample', { list: [1], count: 2 }),
      /out_of_range: A list of 1 items is too short to take 2/,
    )
    const counts = new Array<number>(10).fill(0)
    for (let seed = 0; seed < 300; seed++) {
      for (const one of (await outputOf('random.Sample', { list, count: 3, seed })) as number[]) counts[one]!++
    }
    for (const one of list) assert.ok(counts[one]! > 60 && counts[one]! < 140, String(counts))
  })

  test('Shuffle', async () => {
    const list = [1, 2, 3, 4, 5]
    assert.deepEqual(await outputOf('random.Shuffle', { list, seed: 7 }), [2, 5, 4, 1, 3])
    assert.deepEqual(list, [1, 2, 3, 4, 5])
    assert.deepEqual(await outputOf('random.Shuffle', { list: [] }), [])
    await assert.rejects(outputOf('random.Shuffle'), /missing_property/)
  })

  test('Text', async () => {
    assert.equal(await outputOf('random.Text', { seed: 7 }), '3qmase2kje52')
    assert.equal(await outputOf('random.Text', { length: 8, characters: 'ab👍', seed: 7 }), '👍baaabbb')
    assert.equal(await outputOf('random.Text', { length: 0 }), '')
    await assert.rejects(outputOf('random.Text', { characters: '' }), /bad_input: There are no characters/)
    await assert.rejects(outputOf('random.Text', { characters: 'x'.repeat(10_001) }), /too_large/)
  })

  test('Uuid', async () => {
    assert.equal(await outputOf('random.Uuid', { seed: 7 }), '56659925-1768-4b70-a5ea-d6e891946118')
    const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    for (let seed = 0; seed < 50; seed++) assert.match((await outputOf('random.Uuid', { seed })) as string, form)
    assert.notEqual(await outputOf('random.Uuid'), await outputOf('random.Uuid'))
    await assert.rejects(outputOf('random.Uuid', { seed: 'x' }), /type_mismatch/)
  })

  const streamed = (data: Record<string, unknown>) =>
    graph(
      [node('numbers', 'random.Numbers', data), sink('item'), sink('index')],
      [edge('numbers.item->item.value'), edge('numbers.index->index.value')],
    )

  test('Numbers', async () => {
    assert.deepEqual(await outputs(streamed({ count: 3, seed: 7 })), {
      item: [0.33748776533776026, 0.8981146184255953, 0.6036841558699432],
      index: [0, 1, 2],
    })
    const dice = await outputs(streamed({ count: 100, min: 1, max: 6, whole: true, seed: 7 }))
    assert.deepEqual(new Set(dice.item as number[]), new Set([6, 5, 1, 4, 3, 2]))
    assert.deepEqual(await outputs(streamed({ count: 0 })), { item: [], index: [] })
    for (const [data, type] of [
      [{ count: 1, min: 2 }, 'bad_input'],
      [{ count: 1, min: 0.5, whole: true }, 'bad_input'],
    ] as const) {
      const outcome = await run(streamed(data))
      assert.ok(outcome.status === 'failed')
      assert.equal(outcome.error.type, type)
    }
    await assert.rejects(fire('random.Numbers', { count: 1_000_001 }), /must be at most 1000000/)
  })

  test('takes a seed from the run if none is set', async () => {
    const of = (random: () => number) => outputs(streamed({ count: 2 }), undefined, { random })
    assert.deepEqual(await of(() => 0.25), await of(() => 0.25))
    assert.notDeepEqual(await of(() => 0.25), await of(() => 0.5))
  })
})
