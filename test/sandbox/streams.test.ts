// Calls that yield: order, how far they run ahead, limits per item, and ends from either side.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { MAX_ITEMS_AHEAD } from '../../src/sandbox/limits.ts'
import { inSomeRound, withMoreTime } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { until } from '../helpers/server.ts'
import { call, failure, script } from './kit.ts'

const sandbox = createCodeSandbox({ workers: 1, held: 4 })
after(() => sandbox[Symbol.asyncDispose]())

const stream = (code: string, more = {}) => sandbox.stream(script(code, more))
const COUNT = 'for (let i = 0; ; i++) yield { i }'

/** Whether another stream may wait for its consumer. */
async function pauses(): Promise<boolean> {
  const items = stream(COUNT)
  await items.next()
  await call(sandbox, 'return {}')
  const { done } = await items.next()
  await items.return({})
  return !done
}

describe('a stream', () => {
  test('gives its items in order, then its result, then nothing', async () => {
    const items = stream('for (let i = 0; i < n; i++) yield { i }\nreturn { n }', { inputs: { n: 500 } })
    for (let i = 0; i < 500; i++) assert.deepEqual(await items.next(), { done: false, value: { i } })
    assert.deepEqual(await items.next(), { done: true, value: { n: 500 } })
    assert.deepEqual(await items.next(), { done: true, value: {} })
  })

  test('may be empty', async () => {
    assert.deepEqual(await stream('return { a: 1 }').next(), { done: true, value: { a: 1 } })
  })

  test('answers concurrent calls of next in their order', async () => {
    const items = stream('yield { a: 1 }\nyield { a: 2 }\nreturn { a: 3 }')
    const given = await Promise.all([items.next(), items.next(), items.next()])
    assert.deepEqual(
      given.map(({ value }) => value),
      [{ a: 1 }, { a: 2 }, { a: 3 }],
    )
  })

  test('delegates to other generators and awaits promises', async () => {
    const items = stream(
      'function* g() { yield { a: 1 } }\nyield* g()\nyield* (async function* () { yield { a: 2 } })()\nyield Promise.resolve({ a: 3 })',
    )
    const given: unknown[] = []
    for await (const item of items) given.push(item)
    assert.deepEqual(given, [{ a: 1 }, { a: 2 }, { a: 3 }])
  })

  test('gives the items before an error, and then the error', async () => {
    const items = stream("yield { a: 1 }\nyield { a: 2 }\nthrow new Error('third')")
    assert.deepEqual((await items.next()).value, { a: 1 })
    assert.deepEqual((await items.next()).value, { a: 2 })
    assert.equal((await failure(items.next())).message, 'Error: third (line 3, column 16)')
    assert.equal((await items.next()).done, true)
  })

  test('that yields an invalid item fails', async () => {
    const error = await failure(stream('yield 5').next())
    assert.deepEqual([error.type, error.message.includes('yielded a number')], ['code_output', true])
  })

  test('runs ahead of its consumer up to a limit', async () => {
    // A turn that is too long by the clock ends before that.
    await inSomeRound(async () => {
      let ran = 0
      const items = stream(`for (let i = 0; ; i++) { console.log(i); yield { i } }`, { log: () => ran++ })
      await items.next()
      // There is only one worker: the next call runs after the turn of the stream.
      await call(sandbox, 'return {}')
      const ahead = ran
      for (let i = 1; i < MAX_ITEMS_AHEAD; i++) await items.next()
      await call(sandbox, 'return {}')
      const further = ran
      await items.return({})
      assert.ok(ahead >= MAX_ITEMS_AHEAD && further > MAX_ITEMS_AHEAD, `${ahead}, then ${further} items`)
      assert.ok(further <= 3 * MAX_ITEMS_AHEAD, `${further} items`)
    })
  })

  test('runs ahead less with large items', async () => {
    let ran = 0
    const items = stream(`for (;;) { console.log(''); yield { a: 'x'.repeat(2e6) } }`, { log: () => ran++ })
    for (let i = 1; i <= 3; i++) {
      await items.next()
      assert.ok(ran <= i + 1, `${ran} items`)
    }
    await items.return({})
  })

  test('has its time limit for each item', async () => {
    const wait = 'const until = Date.now() + ms; while (Date.now() < until);'
    // Five items take longer than the limit, and a single one does not.
    await withMoreTime(250, async (time_limit_ms) => {
      const inputs = { some: time_limit_ms / 4, all: 1e9 }
      const items = stream(`for (const ms of Array(5).fill(some).concat(all)) { ${wait} yield { ms } }`, {
        inputs,
        time_limit_ms,
      })
      for (let i = 0; i < 5; i++) assert.deepEqual((await items.next()).value, { ms: inputs.some })
      assert.equal((await failure(items.next())).type, 'code_timeout')
    })
  })

  test('ends when its consumer leaves, whatever it does', async () => {
    const waiting = stream(COUNT)
    await waiting.next()
    assert.deepEqual(await waiting.return({ a: 1 }), { done: true, value: { a: 1 } })
    assert.equal((await waiting.next()).done, true)
    const busy = stream('yield { a: 1 }\nfor (;;);', { time_limit_ms: 60_000 })
    await busy.next()
    await busy.return({})
    const new_ = stream('for (;;);')
    await new_.return({})
    assert.equal((await new_.next()).done, true)
    for await (const { i } of stream(COUNT)) if (i === 100) break
    assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
  })

  test('answers pending calls of next when its consumer leaves', async () => {
    const items = stream('yield { a: 1 }\nfor (;;);', { time_limit_ms: 60_000 })
    await items.next()
    const asked = items.next()
    await items.return({})
    assert.equal((await asked).done, true)
  })

  test('ends with its signal, items or not', async () => {
    const controller = new AbortController()
    const items = stream(COUNT, { signal: controller.signal })
    await items.next()
    controller.abort()
    await assert.rejects(items.next(), { name: 'AbortError' })
    assert.equal((await items.next()).done, true)
  })
})

describe('concurrent streams', () => {
  test('that feed each other do not deadlock, even with one worker', async () => {
    let source: AsyncGenerator<Record<string, unknown>> = stream('for (let i = 0; i < 200; i++) yield { n: i }')
    const sums: number[] = []
    for (let item = await source.next(); !item.done; item = await source.next()) {
      const doubled = stream('for (let k = 0; k < 50; k++) yield { n: n * 2 + k }', { inputs: item.value })
      await doubled.next()
      const { sum } = await call(sandbox, 'return { sum: n + 1 }', { inputs: item.value })
      sums.push(sum as number)
      await doubled.return({})
    }
    source = stream('return {}')
    await source.return({})
    assert.deepEqual([sums.length, sums.at(-1)], [200, 200])
  })

  test('hold workers of their own, up to a limit', async () => {
    const items = Array.from({ length: 4 }, () => stream(COUNT))
    for (const one of items) assert.deepEqual((await one.next()).value, { i: 0 })
    assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
    const fifth = stream(COUNT)
    await fifth.next()
    // There is only one permit, so this call waits until the fifth stream has released it.
    assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
    assert.equal((await failure(fifth.next())).type, 'code_busy')
    for (const one of items) assert.deepEqual((await one.next()).value, { i: 1 })
    await items.pop()!.return({})
    // The worker is returned a moment after its stream was left.
    await until('a place to be free', () => pauses().catch(() => false))
    for (const one of items) await one.return({})
  })

  test('that are left or cancelled at any moment release what they held', async () => {
    await using pool = createCodeSandbox({ workers: 2, held: 4 })
    const work = `for (let i = 0; ; i++) { for (const to = Date.now() + i % 3; Date.now() < to; ); yield { i } }`
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.nat(80), fc.boolean()), { minLength: 1, maxLength: 6 }),
        async (streams) => {
          const ends = streams.map(async ([owner, most, left]) => {
            const end = new AbortController()
            const items = pool.stream(script(work, { owner: `owner ${owner}`, signal: end.signal }))
            for (let i = 0; i < most; i++) await items.next()
            if (left) await items.return({})
            else end.abort()
          })
          for (const end of await Promise.allSettled(ends)) {
            if (end.status === 'rejected') assert.equal((end.reason as { type?: string }).type, 'code_busy')
          }
          const three = ['owner 0', 'owner 1', 'owner 2'].map((owner) =>
            call(pool, 'return { owner }', { owner, inputs: { owner } }),
          )
          assert.deepEqual(await Promise.all(three), [{ owner: 'owner 0' }, { owner: 'owner 1' }, { owner: 'owner 2' }])
        },
      ),
      { numRuns: scaled(10) },
    )
    // Four more streams may wait only if no earlier one still counts as held.
    const four = Array.from({ length: 4 }, () => pool.stream(script(COUNT)))
    for (const one of four) await one.next()
    await call(pool, 'return {}', { owner: 'owner 0' })
    for (const one of four) assert.deepEqual((await one.next()).value, { i: 1 })
  })
})
