// What one firing costs at most: inputs that were made to be slow are refused, or take no longer than others of their size.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type NodeContext, Want } from '../../src/engine/node-type.ts'
import { noServices } from '../../src/engine/services.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { replaced, split } from '../../src/nodes/text-parts.ts'
import { search } from '../../src/nodes/text-search.ts'
import { scaled } from '../helpers/scale.ts'
import { fire, outputOf } from './fire.ts'

/** Milliseconds: some times what the work takes on a quiet machine, and far from what it would take without a bound. */
const SOON = 2000

/** Fails where the work takes long, and gives what comes of it. */
async function soon<Result>(work: () => Promise<Result>): Promise<Result> {
  const from = performance.now()
  try {
    return await work()
  } finally {
    const took = Math.round(performance.now() - from)
    assert.ok(took < SOON, `It took ${took} ms.`)
  }
}

const context: NodeContext = {
  node_id: 'n',
  outputs: new Map(),
  streams: false,
  isConnected: () => false,
  run: {},
  signal: new AbortController().signal,
  clock: { now: () => 0, sleep: async () => {} },
  random: () => 0,
  services: noServices,
  log: () => {},
  progress: () => {},
  chunk: () => {},
  callWorkflow: async (_id, params) => params,
}

const a = (length: number) => 'a'.repeat(length)

describe('looking for a text in another', () => {
  const hostile = { text: a(400_000), part: `${a(10)}b${a(200_000)}` }

  test('takes no longer for a part that nearly is everywhere', async () => {
    const { text, part } = hostile
    assert.deepEqual(await soon(() => fire('text.Contains', { text, part })), { output: false, index: -1 })
    const found = { text: text + part, find: part, replacement: 'b' }
    assert.deepEqual(await soon(() => fire('text.Replace', found)), { output: `${text}b`, count: 1 })
    assert.deepEqual(await soon(() => outputOf('text.Split', { text, separator: part })), [text])
  })

  test('nor for the plain beginning of a pattern', async () => {
    const pattern = `${a(900)}b${a(900)}`
    const text = a(1_000_000)
    assert.equal(await soon(() => outputOf('regex.Match', { text, pattern })), false)
    assert.equal(await soon(() => outputOf('regex.Replace', { text, pattern })), text)
  })

  const letters = (most: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: most })

  test('finds what is there', () => {
    const period = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 })
    const parts = fc.tuple(period, fc.integer({ min: 1, max: 12 }), letters(3))

    fc.assert(
      fc.property(
        parts,
        fc.array(fc.oneof(letters(40), fc.constant(null))),
        fc.nat(50),
        ([unit, times, end], texts, from) => {
          const part = unit.repeat(times) + end
          const text = texts.map((piece) => piece ?? part).join('')
          assert.equal(search(text, part, from), text.indexOf(part, from))
          assert.deepEqual(split(text, part), text.split(part))
          assert.equal(
            replaced(text, part, '$&'),
            text.replaceAll(part, () => '$&'),
          )
        },
      ),
      { numRuns: scaled(500) },
    )
  })
})

test('a formula is not evaluated more often than its length allows', async () => {
  const list = Array.from({ length: 1_000_000 }, (_, at) => at)
  const rows = list.map((x) => ({ x }))
  const dict = Object.fromEntries(list.slice(0, 200_000).map((at) => [`k${at}`, at]))
  const long = Array(1600).fill('x').join('+')
  const refused = /too_large: The formula takes \d+ steps, too many for [\d,]+ values at once/
  await soon(() => assert.rejects(outputOf('list.Calculate', { list, formula: long }), refused))
  await soon(() => assert.rejects(outputOf('data.AddColumn', { rows, name: 'y', formula: long }), refused))
  await soon(() => assert.rejects(outputOf('data.Filter', { rows, formula: long }), refused))
  await soon(() => assert.rejects(outputOf('dict.MapValues', { dict, formula: long }), refused))
  const calls = Array(9).fill('hypot(x, i)').join('+')
  await assert.rejects(outputOf('list.Calculate', { list, formula: calls }), refused)
  const rounded = (await outputOf('list.Calculate', { list, formula: 'round(x / 3, 1)' })) as number[]
  assert.equal(rounded[500_000], 166_666.7)
})

describe('long texts', () => {
  const long = a(10_000_000)
  const refused = /too_large: The values hold more than [\d,]+ others/

  test('are not compared without end', async () => {
    const list = Array(4096).fill(long)
    const value = `${long.slice(1)}b`
    const rows = list.map((x) => ({ x }))
    await soon(() => assert.rejects(outputOf('list.Unique', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.GroupBy', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.Sort', { list }), refused))
    await soon(() => assert.rejects(outputOf('list.Contains', { list, value }), refused))
    await soon(() => assert.rejects(outputOf('list.Filter', { list, value }), refused))
    await soon(() => assert.rejects(outputOf('list.Filter', { list, op: '<', value }), refused))
    await soon(() => assert.rejects(outputOf('data.Filter', { rows, where: { x: value } }), refused))
    await soon(() => assert.rejects(outputOf('data.Sort', { rows, by: ['x'] }), refused))
    await soon(() => assert.rejects(outputOf('data.Group', { rows, aggregate: { x: 'min' } }), refused))
    await soon(() => assert.rejects(outputOf('data.Describe', { rows }), refused))
    const wide = Array(50).fill(Array(500_000).fill([]))
    await soon(() => assert.rejects(outputOf('list.Unique', { list: wide }), refused))
  })

  test('of the same length are told apart at once', async () => {
    const list = Array.from({ length: 4000 }, (_, at) => a(20_000) + String(at).padStart(4, '0'))
    assert.deepEqual(await soon(() => outputOf('list.Unique', { list: [...list, ...list.slice(0, 500)] })), list)
    assert.deepEqual(await soon(() => outputOf('list.Sort', { list: list.toReversed() })), list)
  })

  test('of a handful are ordered and told apart', async () => {
    const [b, c] = [`b${long.slice(1)}`, `${long.slice(1)}c`]
    const lone = ['\ud800', '\ud801'].map((unit) => a(20_000) + unit)
    assert.deepEqual(await outputOf('list.Unique', { list: [b, long, c, long, b] }), [b, long, c])
    assert.deepEqual(await outputOf('list.Sort', { list: [b, null, c, long, b], descending: true }), [
      b,
      b,
      c,
      long,
      null,
    ])
    assert.deepEqual(await outputOf('list.Unique', { list: [...lone, [lone[0]], ...lone] }), [...lone, [lone[0]]])
    assert.deepEqual(await outputOf('list.Unique', { list: ['[1]', [1], '1', 1, [1]] }), ['[1]', [1], '1', 1])
    assert.deepEqual(await fire('list.Contains', { list: [b, c, long], value: `${a(9_999_999)}a` }), {
      output: true,
      index: 2,
    })
  })
})

describe('what is gathered of a stream', () => {
  const refused = /more than 100,000,000 characters together/
  const large = [{ of: [a(10_000_000)] }]

  test('is counted wherever it lies in an item by control.Collect', () => {
    const collect = builtinNodes.get('control.Collect')!.open!({}, context)
    for (let count = 0; count < 9; count++) collect.push(large)
    assert.throws(() => collect.push(large), refused)
  })

  for (const [type, inputs] of [
    ['control.Batch', { size: 1000 }],
    ['control.Cross', {}],
  ] as const) {
    test(`and by ${type}`, () => {
      const weave = builtinNodes.get(type)!.weave!(inputs, context)
      assert.ok(weave.next().value instanceof Want)
      for (let count = 0; count < 9; count++) assert.ok(weave.next(large).value instanceof Want)
      assert.throws(() => weave.next(large), refused)
    })
  }

  test('may be much where it is small', async () => {
    const collect = builtinNodes.get('control.Collect')!.open!({}, context)
    for (let at = 0; at < 1_000_000; at++) collect.push({ a: at, b: 'text' })
    assert.equal(((await collect.end()).list as unknown[]).length, 1_000_000)
  })
})

describe('JSON is looked at before it is read', () => {
  const objects = (count: number) => Array.from({ length: count }, (_, at) => `{"${at.toString(36)}":1}`)
  const refused = /too_large: The JSON has more than [\d,]+ (different keys|values)/

  test('by json.Parse', async () => {
    await soon(() => assert.rejects(outputOf('json.Parse', { text: `[${objects(800_000)}]` }), refused))
    await soon(() => assert.rejects(outputOf('json.Parse', { text: `[${'[],'.repeat(2_000_000)}0]` }), refused))
  })

  test('by data.ParseJsonLines, all lines together', async () => {
    const read = (text: string) => outputOf('data.ParseJsonLines', { text, invalid: 'skip' })
    await soon(() => assert.rejects(read(`"\n{"a":"\n${objects(800_000).join('\n')}`), refused))
    const line = `{"a":[${'1,'.repeat(50_000)}1]}\n`
    await soon(() => assert.rejects(read(line.repeat(30)), refused))
  })

  test('and as much as a table has is read', async () => {
    const line = '{"name":"a","count":1,"price":2.5}'
    const text = Array(200_000).fill(line).join('\n')
    const { rows } = await fire('data.ParseJsonLines', { text })
    assert.equal((rows as unknown[]).length, 200_000)
    assert.equal(
      ((await outputOf('json.Parse', { text: `[${text.replaceAll('\n', ',')}]` })) as unknown[]).length,
      200_000,
    )
  })
})

describe('text.Diff', () => {
  const numbered = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => a(4000) + String(from + at).padStart(5, '0'))

  test('does not compare long lines again and again', async () => {
    const [before, after] = [numbered(1900).join('\n'), numbered(1900, 2000).join('\n')]
    const refused = /too_large: The texts differ in more than 2,000 lines/
    await soon(() => assert.rejects(outputOf('text.Diff', { a: before, b: after }), refused))
  })

  test('gives the lines as they are', async () => {
    const of = (a: string, b: string) => outputOf('text.Diff', { a, b, context: 1 })
    const end = '\\ No newline at end of file'
    assert.equal(await of('7\n\n5', '7\n\n\\\n'), `--- a\n+++ b\n@@ -2,2 +2,2 @@\n \n-5\n${end}\n+\\\n`)
  })
})

test('text.Template reads each path once, and has an end to its placeholders', async () => {
  const value = { list: Array.from({ length: 100_000 }, (_, at) => at) }
  const template = '{{a.list[-1]}}'.repeat(100_000)
  assert.equal(await soon(() => outputOf('text.Template', { template }, { a: value })), '99999'.repeat(100_000))
  const whole = '{{a}}'.repeat(2_000_000)
  await soon(() =>
    assert.rejects(outputOf('text.Template', { template: whole }, { a: 'x' }), /more than 100,000 placeholders/),
  )
  const large = '{{a}}'.repeat(15)
  assert.equal(
    await soon(() => outputOf('text.Template', { template: large }, { a: value })),
    JSON.stringify(value).repeat(15),
  )
})

test('large tables are refused where their rows are told apart or summed up', async () => {
  const rows = Array.from({ length: 1_000_000 }, (_, at) => ({ a: at % 250_000, b: at % 19, c: at, d: at }))
  const refused = /too_large: The values hold more than 3,000,000 others/
  const pivot = { rows, index: ['a'], columns: 'b', values: 'c' }
  await soon(() => assert.rejects(outputOf('data.Pivot', pivot), refused))
  await soon(() => assert.rejects(outputOf('data.Describe', { rows }), refused))
  await soon(() => assert.rejects(outputOf('data.Distinct', { rows }), refused))
  await soon(() => assert.rejects(outputOf('data.Group', { rows, by: ['a', 'b', 'c'] }), refused))
  const many = /too_large: The object would have more than 500,000 keys/
  await soon(() => assert.rejects(outputOf('list.IndexBy', { list: rows, by: 'c' }), many))
  const indexed = await soon(() => outputOf('list.IndexBy', { list: rows, by: 'a', value: 'b' }))
  assert.equal(Object.keys(indexed as object).length, 250_000)
})
