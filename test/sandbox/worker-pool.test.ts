// Many concurrent calls: turns, cancelling, closing, and their leftovers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { belowInSome } from '../helpers/patience.ts'
import { runProcess } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { until } from '../helpers/server.ts'
import { call, failure, script } from './kit.ts'

const SANDBOX = JSON.stringify(new URL('../../src/sandbox/code-sandbox.ts', import.meta.url).href)
const LOOP = 'for (;;);'
const MB = 1024 * 1024

/** Milliseconds until a promise settles, in either way. */
async function timed(running: Promise<unknown>): Promise<number> {
  const from = performance.now()
  await running.catch(() => {})
  return performance.now() - from
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function heapAfterCollection(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collectGarbage()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

describe('many calls of code', () => {
  test('are all answered, 200 at once, each with its own result', async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    const calls = Array.from({ length: 200 }, (_, n) => call(sandbox, 'return { n: n * 2 }', { inputs: { n } }))
    const given = await Promise.all(calls)
    assert.deepEqual(
      given.map(({ n }) => n),
      given.map((_, n) => n * 2),
    )
  })

  test('are not affected by a failing call among them', async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    const codes = ['return { n }', "throw new Error('x')", LOOP, 'const f = () => f() + 1; f()']
    const calls = Array.from({ length: 40 }, (_, n) =>
      call(sandbox, codes[n % 4]!, { inputs: { n }, ...(n % 4 === 2 ? { time_limit_ms: 20 } : {}) }),
    )
    const results = await Promise.allSettled(calls)
    const seen = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason as { type: string }).type))
    assert.deepEqual(
      seen,
      seen.map((_, n) => ['ok', 'code_error', 'code_timeout', 'code_stack'][n % 4]),
    )
  })

  test('are served in the order of their arrival', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    const order: number[] = []
    const calls = Array.from({ length: 20 }, (_, n) => call(sandbox, 'return {}').then(() => order.push(n)))
    await Promise.all(calls)
    assert.deepEqual(
      order,
      order.map((_, n) => n),
    )
  })
})

describe('cancelling code', () => {
  test('settles a running call at once, and the next call has a worker', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    for (const code of [LOOP, 'let a = 7n ** 200000n; for (;;) String(a)', 'for (;;) await null']) {
      await belowInSome(1000, async () => {
        const controller = new AbortController()
        const begun = Promise.withResolvers<void>()
        const running = sandbox.call(
          script(`console.log(''); ${code}`, {
            signal: controller.signal,
            time_limit_ms: 60_000,
            log: () => begun.resolve(),
          }),
        )
        const settled = timed(running)
        await begun.promise
        const from = performance.now()
        controller.abort()
        await settled
        const took = performance.now() - from
        await assert.rejects(running, { name: 'AbortError' })
        assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
        return took
      })
    }
  })

  test('removes a waiting call from the queue', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    const [first, second] = [new AbortController(), new AbortController()]
    const running = sandbox.call(script(LOOP, { signal: first.signal, time_limit_ms: 60_000 }))
    const waiting = sandbox.call(script('return { a: 1 }', { signal: second.signal }))
    const last = call(sandbox, 'return { a: 2 }')
    second.abort(new Error('enough'))
    await assert.rejects(waiting, /enough/)
    first.abort()
    await assert.rejects(running, { name: 'AbortError' })
    assert.deepEqual(await last, { a: 2 })
  })

  test('before its start prevents the start', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    const running = sandbox.call(script(LOOP, { signal: AbortSignal.abort(new Error('before')) }))
    await assert.rejects(running, /before/)
  })

  test('is also the effect of a log line that throws', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    const log = () => {
      throw new Error('no more lines')
    }
    await assert.rejects(sandbox.call(script(`console.log('x'); ${LOOP}`, { log })), /no more lines/)
    assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
  })

  test('at any moment leaves a working sandbox', async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    for (let round = 0; round < scaled(20); round++) {
      const controller = new AbortController()
      const calls = Array.from({ length: 4 }, () =>
        sandbox.call(script('for (let i = 0; i < 1e5; i++); return {}', { signal: controller.signal })),
      )
      setTimeout(() => controller.abort(), round)
      await Promise.allSettled(calls)
    }
    assert.deepEqual(await call(sandbox, 'return { a: 1 }'), { a: 1 })
  })
})

describe('native work that nothing interrupts', () => {
  test('is ended by the timer outside, soon after its limit', async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    await call(sandbox, 'return {}')
    await belowInSome(5_000, async () => {
      const running = call(sandbox, 'return { a: String(7n ** 370000n).length }', { time_limit_ms: 10 })
      const took = timed(running)
      assert.equal((await failure(running)).type, 'code_timeout')
      return await took
    })
  })
})

describe('closing a sandbox', () => {
  test('rejects running, waiting and later calls', async () => {
    const sandbox = createCodeSandbox({ workers: 1 })
    const items = sandbox.stream(script('for (let i = 0; ; i++) yield { i }'))
    await items.next()
    const calls = Array.from({ length: 5 }, () => call(sandbox, LOOP, { time_limit_ms: 60_000 }))
    const ends = Promise.allSettled(calls)
    await sandbox[Symbol.asyncDispose]()
    for (const end of await ends) assert.equal((end as { reason?: { type?: string } }).reason?.type, 'unavailable')
    assert.equal((await failure(call(sandbox, 'return {}'))).type, 'unavailable')
    await assert.rejects(async () => {
      for (;;) if ((await items.next()).done) return
    }, /closed/)
    await sandbox[Symbol.asyncDispose]()
  })

  test('leaves no thread, handle or timer', async () => {
    const before = process.getActiveResourcesInfo().filter((one) => one !== 'Immediate').length
    {
      await using sandbox = createCodeSandbox({ workers: 2 })
      await Promise.allSettled(Array.from({ length: 8 }, (_, n) => call(sandbox, n % 2 ? 'return {}' : 'null.x')))
      await sandbox.stream(script('yield {}')).next()
    }
    await until(
      'all to be gone',
      () => process.getActiveResourcesInfo().filter((one) => one !== 'Immediate' && one !== 'Timeout').length <= before,
    )
  })

  for (const [what, code] of [
    ['idle workers', "await sandbox.call(script('return {}'))"],
    ['a stream that nobody asks any more', "await sandbox.stream(script('for (;;) yield {}')).next()"],
    ['a closed sandbox', "await sandbox.call(script('return {}')); await sandbox[Symbol.asyncDispose]()"],
  ] as const) {
    test(`${what} let the process end`, async () => {
      const text = `import { createCodeSandbox } from ${SANDBOX}
        const sandbox = createCodeSandbox()
        const signal = new AbortController().signal
        const script = (code) => ({ code, inputs: {}, seed: 1, time_limit_ms: 5000, memory_limit_mb: 64, signal, log() {} })
        ${code}
        console.log('done')`
      await using running = runProcess('--input-type=module', ['--eval', text])
      const { code: exit, stdout } = await running.ended()
      assert.deepEqual([exit, stdout], [0, 'done\n'])
    })
  }
})

test('many calls leave the memory of the process unchanged', async () => {
  await using sandbox = createCodeSandbox({ workers: 2 })
  const some = async (count: number) => {
    for (let done = 0; done < count; done += 50) {
      await Promise.all(
        Array.from({ length: 50 }, () => call(sandbox, 'return { a: x.length }', { inputs: { x: 'x'.repeat(1000) } })),
      )
    }
  }
  await some(200)
  const before = await heapAfterCollection()
  await some(scaled(2000))
  const after = await heapAfterCollection()
  assert.ok(after - before < 4 * MB, `${((after - before) / MB).toFixed(1)} MB more`)
})
