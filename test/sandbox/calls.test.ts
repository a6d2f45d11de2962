// One call: inputs, outputs, console, random numbers, time, and errors with their lines.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import { MAX_VALUE_DEPTH } from '../../src/engine/node-api/values/measure.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { LONGEST_JSON, LONGEST_LINE, MAX_LOG_LINES, MAX_SCRIPT_VALUES } from '../../src/sandbox/limits.ts'
import type { Steps } from '../../src/shared/time-slices.ts'
import { scaled } from '../helpers/scale.ts'
import { call, failure, script } from './kit.ts'

const sandbox = createCodeSandbox({ workers: 1 })
after(() => sandbox[Symbol.asyncDispose]())

const run = (code: string, inputs: Record<string, unknown> = {}) => call(sandbox, code, { inputs })

async function lines(code: string): Promise<string[]> {
  const seen: string[] = []
  await call(sandbox, code, { log: (severity, content) => seen.push(`${severity} ${content}`) })
  return seen
}

/** Each step is a turn of the event loop. */
const inTurns =
  (stepped = () => {}) =>
  async <T>(steps: Steps<T>): Promise<T> => {
    for (;;) {
      const { done, value } = steps.next()
      if (done) return value
      stepped()
      await new Promise(setImmediate)
    }
  }

describe('inputs of a call', () => {
  test('are variables by name, and members of `inputs`', async () => {
    assert.deepEqual(await run(`return { a: a + inputs.b, c: inputs['my name'] }`, { a: 1, b: 2, 'my name': 'x' }), {
      a: 3,
      c: 'x',
    })
  })

  test('may be shadowed by variables of the code, and shadow globals of their name', async () => {
    const inputs = { text: 'x', Math: 1, JSON: 2, Object: 3, console: 4, inputs: 5, undefined: 6, globalThis: 7 }
    const code = `const text = inputs.text + '!'
      return { text, Math, JSON, Object, console: typeof console, inputs: inputs.inputs, undefined: typeof undefined }`
    const given = { text: 'x!', Math: 1, JSON: 2, Object: 3, console: 'object', inputs: 5, undefined: 'undefined' }
    assert.deepEqual(await run(code, inputs), given)
  })

  test('that JSON cannot express are refused by name', async () => {
    for (const [value, pattern] of [
      [Number.NaN, /"x": it holds NaN/],
      [[1, Number.POSITIVE_INFINITY], /Infinity/],
      [{ a: 1n }, /BigInt/],
      [() => 1, /function/],
      [Symbol('x'), /symbol/],
      [new Uint8Array(3), /bytes/],
    ] as const) {
      const error = await failure(run('return {}', { x: value }))
      assert.equal(error.type, 'bad_input')
      assert.match(error.message, pattern)
    }
  })

  test('that are too deep, too long or too many are refused before they are sent', async () => {
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    assert.equal((await failure(run('return {}', { x: cyclic }))).type, 'too_deep')
    assert.equal((await failure(run('return {}', { x: 'x'.repeat(LONGEST_JSON) }))).type, 'too_large')
    assert.equal((await failure(run('return {}', { x: Array(MAX_SCRIPT_VALUES + 1).fill(1) }))).type, 'too_large')
    let shared: unknown = [1]
    for (let level = 0; level < 50; level++) shared = [shared, shared]
    assert.equal((await failure(run('return {}', { x: shared }))).type, 'too_large')
    assert.equal((await failure(run('/'.repeat(1_000_001)))).type, 'too_large')
  })
})

describe('values of a call', () => {
  test('are returned unchanged', async () => {
    const values = fc.jsonValue({ maxDepth: 4 })
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), values), async (given) => {
        const { output } = await run('return { output: inputs }', given)
        assert.deepEqual(output, JSON.parse(JSON.stringify(given)))
      }),
      { numRuns: scaled(50) },
    )
  })

  test('may be texts of any characters', async () => {
    const text = '\u0000\ud800x\udfff\u2028\u2029😀"\\'
    assert.deepEqual(await run('return { text, length: text.length }', { text }), { text, length: text.length })
  })

  test('are converted as JSON converts them', async () => {
    const code = `class Point { constructor() { this.x = 1; this.none = undefined } }
      return { date: new Date(0), point: new Point(), list: [undefined, null], none: undefined, zero: -0,
        own: Object.create(null), text: { toJSON: () => 'shown' } }`
    assert.deepEqual(await run(code), {
      date: '1970-01-01T00:00:00.000Z',
      point: { x: 1 },
      list: [null, null],
      zero: 0,
      own: {},
      text: 'shown',
    })
  })

  test('may be as deep and as many as the limits allow', async () => {
    const deep = (levels: number) => `let a = 1; for (let i = 0; i < ${levels}; i++) a = [a]; return { a }`
    assert.ok((await run(deep(MAX_VALUE_DEPTH))).a)
    assert.match((await failure(run(deep(MAX_VALUE_DEPTH + 1)))).message, /nested more than 64 deep/)
    const many = (await run(`return { a: Array(${MAX_SCRIPT_VALUES - 10}).fill(0) }`)).a as unknown[]
    assert.equal(many.length, MAX_SCRIPT_VALUES - 10)
  })

  for (const [what, code, pattern] of [
    ['NaN', 'return { a: [0 / 0] }', /NaN, no finite number/],
    ['infinity', 'return { a: { b: 1 / 0 } }', /"b", which is Infinity/],
    ['a BigInt', 'return { a: 1n }', /"a", which is a BigInt; use Number/],
    ['a function', 'return { a() {} }', /"a", which is a function/],
    ['a symbol', "return { a: Symbol('x') }", /"a", which is a symbol/],
    ['a Map', 'return { a: new Map() }', /"a", which is a Map; use Object.fromEntries/],
    ['a Set', 'return { a: new Set() }', /"a", which is a Set/],
    ['a promise', 'return { a: Promise.resolve(1) }', /"a", which is a Promise; await it first/],
    ['an error', "return { a: new TypeError('x') }", /"a", which is an Error/],
    ['bytes', 'return { a: new Uint8Array(2) }', /"a", which is a typed array/],
    ['a value that holds itself', 'const a = []; a.push(a); return { a }', /a value that holds itself/],
    ['a number', 'return 5', /returned a number instead of an object/],
    ['a list', 'return [1]', /returned a list instead of an object/],
    ['null', 'return null', /returned null instead of an object/],
    [
      'an object with too many keys',
      'const a = {}; for (let at = 0; at < 100_001; at++) a["k" + at] = at; return { a }',
      /a dict with more than 100,000 keys/,
    ],
  ] as const) {
    test(`${what} is no output`, async () => {
      const error = await failure(run(code))
      assert.equal(error.type, 'code_output')
      assert.match(error.message, pattern)
    })
  }

  test('are empty outputs if nothing is returned', async () => {
    assert.deepEqual(await run(''), {})
    assert.deepEqual(await run('return'), {})
    assert.deepEqual(await run('// the end'), {})
  })

  test('may be promises, which are awaited', async () => {
    const code = `const twice = async (n) => { await null; return n * 2 }
      return { a: await twice(2), b: await Promise.all([1, 2].map(twice)) }`
    assert.deepEqual(await run(code), { a: 4, b: [2, 4] })
    assert.deepEqual(await run('return Promise.resolve({ a: 1 })'), { a: 1 })
  })
})

describe('errors of a call', () => {
  for (const [what, code, message] of [
    ['thrown on purpose', "const a = 1\n  throw new TypeError('bad')", 'TypeError: bad (line 2, column 22)'],
    [
      'of a function',
      'function f(x) {\n  return x.y.z\n}\nf({})',
      /^TypeError: .*'z' of undefined \(line 2, column \d+\)$/,
    ],
    [
      'of what is in other engines',
      'return fetch("x")',
      /'fetch' is not defined \(line 1, column 8\)\. Send requests with the node http\.Request\.$/,
    ],
    ['of a name', '\n\nfoo + 1', /^ReferenceError: .*foo.* \(line 3, column 1\)$/],
    ['of syntax', 'const a = 1\nconst b = = 2\n', /^SyntaxError: .* \(line 2, column \d+\)$/],
    ['of syntax left open', 'const a = (1', /^SyntaxError: .* \(at the end, line 1\)$/],
    ['behind lone carriage returns', '// a\r\r  null.x', /^TypeError: .* \(line 3, column 7\)$/],
    ['behind a line separator', '// a\u2028null.x', /^TypeError: .* \(line 2, column 5\)$/],
    ['behind all kinds of breaks', 'let a\r\n// \u2029\n\rconst b = = 2', /^SyntaxError: .* \(line 5, column 11\)$/],
    ['left open behind carriage returns', '// a\r\rconst a = (1', /^SyntaxError: .* \(at the end, line 3\)$/],
    ['with a stack that it wrote itself', "const e = new Error('x'); e.stack = 'code.js:99:1'; throw e", 'Error: x'],
    ['with a stack right behind the end', "const e = new Error('x'); e.stack = 'code.js:3:1'; throw e", 'Error: x'],
    [
      'with a column behind the line',
      "const e = new Error('x'); e.stack = 'code.js:2:999'; throw e",
      'Error: x (line 1, column 61)',
    ],
    ['of the first line', 'null.x', /^TypeError: .* \(line 1, column \d+\)$/],
    ['of a promise', "await Promise.reject(new Error('late'))", /^Error: late \(line 1, column \d+\)$/],
    ['of a class of its own', "class Odd extends Error { name = 'Odd' }\nthrow new Odd('x')", /^Odd: x \(line \d/],
    ['without a message', 'throw new RangeError()', /^RangeError \(line 1/],
    ['of eval', "\neval('null.x')", /^TypeError: .* \(line 2, column \d+\)$/],
    ['that is a text', "throw 'just so'", 'The code threw just so'],
    ['that is an object', 'throw { code: 7 }', 'The code threw {code: 7}'],
    ['that is null', 'throw null', 'The code threw null'],
    ['of strict code', 'undeclared = 1', /^ReferenceError: .*undeclared.* \(line 1/],
  ] as const) {
    test(`${what} say where`, async () => {
      const error = await failure(run(code))
      assert.equal(error.type, 'code_error')
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
    })
  }

  test('of a stack overflow contain the position, too', async () => {
    const error = await failure(run('const f = () =>\n  f() + 1\nf()'))
    assert.equal(error.type, 'code_stack')
    assert.match(error.message, /\(line 2, column \d+\)/)
  })

  test('of memory contain the limit', async () => {
    const error = await failure(call(sandbox, 'new ArrayBuffer(9e6)', { memory_limit_mb: 8 }))
    assert.deepEqual([error.type, error.message.includes('8 MB')], ['code_memory', true])
    assert.deepEqual(await call(sandbox, 'new ArrayBuffer(9e6); return {}', { memory_limit_mb: 16 }), {})
  })

  test('of time contain the limit', async () => {
    const error = await failure(call(sandbox, 'for (;;);', { time_limit_ms: 50 }))
    assert.deepEqual([error.type, error.message.includes('50 ms')], ['code_timeout', true])
  })

  test('of promises that never settle are reported at once', async () => {
    assert.match((await failure(run('await new Promise(() => {})'))).message, /promise that never settles/)
  })
})

describe('the console', () => {
  test('has five methods, whose lines keep their order', async () => {
    const code = `console.debug('a'); console.log('b', 1, true); console.info([1, 'x', { y: null }])
      console.warn(undefined, 2n); console.error(new TypeError('bad')); return {}`
    assert.deepEqual(await lines(code), [
      'debug a',
      'info b 1 true',
      'info [1, "x", {y: null}]',
      'warning undefined 2n',
      'error TypeError: bad',
    ])
  })

  test('formats values that are hard to show', async () => {
    const code = `const a = [1]; a.push(a); console.log(a); console.log({ get x() { throw 1 } }); console.log()
      console.log(() => 1, Symbol('x'), new Date(0), ''); return {}`
    const [cyclic, thrown, empty, rest] = await lines(code)
    assert.match(cyclic!, /^info \[1, \[1, .*…/)
    assert.deepEqual([thrown, empty], ['info something that cannot be shown', 'info '])
    assert.equal(rest, 'info [function] [symbol] 1970-01-01T00:00:00.000Z ')
  })

  test('truncates long lines, and drops lines beyond the limit with one note', async () => {
    const seen = await lines(
      `for (let i = 0; i < ${MAX_LOG_LINES + 500}; i++) console.log('x'.repeat(20000)); return {}`,
    )
    assert.equal(seen.length, MAX_LOG_LINES + 1)
    assert.ok(seen.slice(0, -1).every((line) => line.length === LONGEST_LINE + 'info '.length))
    assert.equal(seen.at(-1), 'warning The code wrote more than 1,000 lines; the rest is left out.')
  })

  test('reads only as much of many long values as fits a line', async () => {
    const [line] = await lines("console.log(...Array(60_000).fill('x'.repeat(10_000))); return {}")
    assert.equal(line, `info ${'x'.repeat(LONGEST_LINE - 1)}…`)
  })

  test('delivers lines while the code still runs', async () => {
    const controller = new AbortController()
    const running = sandbox.call(
      script("console.log('begun'); for (;;);", { signal: controller.signal, log: () => controller.abort() }),
    )
    await assert.rejects(running, { name: 'AbortError' })
  })

  test('is logged line by line in the time slices of the run, before the result is returned', async () => {
    const perStep: number[] = []
    let count = 0
    const code = 'for (let i = 0; i < 100; i++) console.log(i); return { a: 1 }'
    const result = await call(sandbox, code, { log: () => count++, inSlices: inTurns(() => perStep.push(count)) })
    assert.deepEqual([result, count], [{ a: 1 }, 100])
    assert.deepEqual(
      perStep.slice(0, 100),
      Array.from({ length: 100 }, (_, at) => at + 1),
    )
  })

  test('ends with its signal, also while lines of finished code wait for their turn', async () => {
    const controller = new AbortController()
    let count = 0
    const log = () => {
      if (++count === 10) controller.abort()
    }
    const code = 'for (let i = 0; i < 100; i++) console.log(i); return {}'
    const running = call(sandbox, code, { log, signal: controller.signal, inSlices: inTurns() })
    await assert.rejects(running, { name: 'AbortError' })
    assert.equal(count, 10)
    assert.deepEqual(await run('return { a: 2 }'), { a: 2 })
  })

  test('fails the call if its lines cannot be logged', async () => {
    const log = () => assert.fail('no room')
    const running = call(sandbox, 'console.log(1); return {}', { log, inSlices: inTurns() })
    await assert.rejects(running, /no room/)
    assert.deepEqual(await run('return { a: 2 }'), { a: 2 })
  })
})

describe('random numbers and dates', () => {
  const draw = (seed: number) => call(sandbox, 'return { a: [Math.random(), Math.random()] }', { seed })

  test('random numbers depend only on the seed', async () => {
    const pinned = [0.3555297384516496, 0.8612797039934686]
    const { a } = await draw(1)
    assert.deepEqual(await draw(1), { a })
    assert.deepEqual(a, pinned)
    const others = await Promise.all([0, 2, -1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER].map(draw))
    assert.equal(new Set(others.map((one) => JSON.stringify(one))).size, others.length)
  })

  test('random numbers fill the range evenly', async () => {
    const code = `const counts = Array(10).fill(0); let most = 0
      for (let i = 0; i < 20000; i++) { const r = Math.random(); counts[Math.floor(r * 10)]++; most = Math.max(most, r) }
      return { counts, most }`
    const { counts, most } = (await run(code)) as { counts: number[]; most: number }
    assert.ok(
      counts.every((count) => count > 1800 && count < 2200),
      String(counts),
    )
    assert.ok(most < 1)
  })

  test('the date is the real one', async () => {
    const before = Date.now()
    const { now } = (await run('return { now: Date.now() }')) as { now: number }
    assert.ok(now >= before && now <= Date.now())
  })
})
