// The list of attacks. Each ends its call with an error that names the cause, or has no effect; afterwards the sandbox runs the next call
// normally.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { call, failure } from './kit.ts'

const TIME = 'code_timeout'
const MEMORY = 'code_memory'
const STACK = 'code_stack'
const OUTPUT = 'code_output'
const ERROR = 'code_error'

interface Attack {
  name: string
  code: string
  /** The error types that it may end with: on a slow machine time may run out before memory does. */
  ends: string[]
  time_limit_ms: number
}

function attack(name: string, code: string, ...ends: string[]): Attack {
  // Attacks that time does not end get enough of it even on a busy machine.
  return { name, code, ends, time_limit_ms: ends.includes(TIME) ? 150 : 60_000 }
}

/** An object nested `depth` deep, built without recursion. */
const nested = (depth: number) => `let a = {}; for (let i = 0; i < ${depth}; i++) a = { a };`

const ATTACKS: Attack[] = [
  attack('an endless loop', 'for (;;);', TIME),
  attack('an endless loop that catches all', 'for (;;) { try { for (;;); } catch {} finally { continue } }', TIME),
  attack('an endless loop behind finally', 'try { for (;;); } finally { for (;;); }', TIME),
  attack('an endless getter', 'return { get a() { for (;;); } }', TIME),
  attack('an endless toJSON', 'return { a: { toJSON() { for (;;); } } }', TIME),
  attack('a toJSON that gives itself', 'const a = { toJSON() { return { a } } }; return { a }', STACK, OUTPUT, TIME),
  attack(
    'an endless toString of an error',
    'throw { toString() { for (;;); }, get message() { for (;;); } }',
    TIME,
    ERROR,
  ),
  attack(
    'an endless stack of an error',
    "const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { for (;;); } }); throw e",
    TIME,
  ),
  attack(
    'an endless iterator',
    'for (const x of { [Symbol.iterator]: () => ({ next: () => ({}), return() { for (;;); } }) });',
    TIME,
  ),
  attack(
    'an endless return of an iterator',
    'for (const x of { [Symbol.iterator]: () => ({ next: () => ({}), return() { for (;;); } }) }) break',
    TIME,
  ),
  attack('an endless generator that never yields', 'function* g() { for (;;); }; yield* g()', TIME),
  attack(
    'an endless asynchronous iterator',
    'for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => ({ done: false }) }) });',
    TIME,
  ),
  attack(
    'an asynchronous iterator that is delegated to',
    'yield* { [Symbol.asyncIterator]: () => ({ next: () => ({ then(f) { f({ done: false, value: 1 }) } }) }) }',
    OUTPUT,
    TIME,
  ),
  attack(
    'an endless flood of microtasks',
    'const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})',
    TIME,
  ),
  attack('an endless thenable', 'const then = (f) => f({ then }); return await { then }', TIME),
  attack(
    'an endless loop in an async function, caught',
    'async function f() { for (;;); }; for (;;) try { await f() } catch {}',
    TIME,
  ),
  attack('a promise that nothing settles', 'await new Promise(() => {})', ERROR),
  attack('a hostile regular expression', "return { a: /(a+)+$/.test('a'.repeat(5000) + 'b') }", TIME),
  attack(
    'a hostile regular expression with back references',
    "return { a: /(.*)*\\1{20}x/.test('ab'.repeat(3000)) }",
    TIME,
    ERROR,
  ),
  attack('a huge regular expression', "new RegExp('('.repeat(100000) + ')'.repeat(100000))", ERROR, STACK),
  attack('a huge sort', 'for (;;) Array.from({ length: 1e6 }, (_, i) => (i * 7919) % 1000003).sort()', TIME, MEMORY),
  attack('a sort that never ends', 'const f = () => [3, 1, 2].sort(() => { for (;;); }); f()', TIME),
  attack('a huge repetition', "return { a: 'x'.repeat(2 ** 30) }", ERROR, MEMORY),
  attack('a huge power', 'let a = 3n; for (;;) a = a ** 5n', TIME, ERROR, MEMORY),
  attack('a huge text of a number', 'let a = 7n ** 300000n; for (;;) String(a)', TIME),
  attack('a huge array that is filled', 'return { a: Array(1e9).fill(1).length }', MEMORY, TIME),
  attack('a huge array that is joined', "return { a: Array(2 ** 32 - 1).join('ab').length }", MEMORY, TIME, ERROR),
  attack('an array that holds itself, flattened', 'const a = []; a[0] = a; a.flat(Infinity)', STACK),
  attack('an array that grows', 'const a = []; for (;;) a.push({})', MEMORY, TIME),
  attack('a text that doubles', "let a = 'x'; for (;;) a += a", MEMORY, ERROR),
  attack(
    'texts that double and are kept',
    "const a = []; for (let s = 'x'; ; ) { try { s += s; a.push(s, s.split('')) } catch { s = 'x' } }",
    MEMORY,
    TIME,
  ),
  attack('a huge buffer', 'new ArrayBuffer(1e9)', MEMORY),
  attack('a huge shared buffer', 'new SharedArrayBuffer(1e9)', MEMORY, ERROR),
  attack('many buffers', 'const a = []; for (;;) a.push(new Uint8Array(1e6))', MEMORY, TIME),
  attack('a map that grows', 'const a = new Map(); for (let i = 0; ; i++) a.set(i, {})', MEMORY, TIME),
  attack(
    'memory that is asked for again and again',
    'const a = []; for (;;) try { a.push(new Array(1e5).fill(1)) } catch {}',
    TIME,
    MEMORY,
  ),
  attack('spread arguments without end', 'Math.max(...Array(1e7).fill(1))', ERROR, MEMORY, STACK, TIME),
  attack('deep recursion', 'const f = () => f() + 1; f()', STACK),
  attack('deep recursion that catches', 'const f = () => { try { f() } catch { f() } }; f()', TIME, STACK),
  attack('deep recursion of getters', 'const a = { get b() { return this.b } }; a.b', STACK),
  attack('deep recursion of toString', 'const a = { toString: () => String(a) }; String(a)', STACK),
  attack(
    'deep recursion of proxies',
    'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x',
    STACK,
    MEMORY,
    TIME,
  ),
  attack(
    'deep recursion of bound functions',
    'let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); f()',
    STACK,
    MEMORY,
    TIME,
  ),
  attack('deep recursion of replace', "const f = () => 'a'.replace(/a/, f); f()", STACK),
  attack('deep recursion of generators', 'function* g() { yield* g() } [...g()]', STACK),
  attack('deep recursion of eval', "const f = () => eval('f()'); f()", STACK, ERROR),
  attack('deep source', "eval('('.repeat(1e6))", STACK, ERROR),
  attack('deep source of functions', "eval('(function(){'.repeat(1e5))", STACK, ERROR),
  attack('deep JSON that is read', "JSON.parse('['.repeat(1e6))", STACK, ERROR),
  attack('deep JSON that is written', `${nested(100_000)} JSON.stringify(a)`, STACK, TIME),
  attack('a deep result', `${nested(100_000)} return a`, STACK, OUTPUT, TIME),
  attack('a result one level too deep', `${nested(65)} return { a }`, OUTPUT),
  attack('a result that holds itself', 'const a = {}; a.a = a; return a', OUTPUT),
  attack(
    'a result of ten million keys',
    'const a = {}; for (let i = 0; i < 1e7; i++) a[i] = 1; return a',
    MEMORY,
    TIME,
    OUTPUT,
  ),
  attack('a result of too many values', 'return { a: Array(1000001).fill(1) }', OUTPUT),
  attack(
    'a result that unfolds to too much',
    'let a = [1]; for (let i = 0; i < 40; i++) a = [a, a]; return { a }',
    OUTPUT,
  ),
  attack('a result of ten gigabytes', "const s = 'x'.repeat(1e6); return { a: Array(10000).fill(s) }", OUTPUT),
  attack('a result with a getter that throws', "return { get a() { throw new Error('no') } }", ERROR),
  attack(
    'a result that is a proxy without end',
    'return new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => `k` + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })',
    OUTPUT,
    TIME,
    MEMORY,
  ),
  attack(
    'a result that is a deepening proxy',
    'const h = { get: () => new Proxy({}, h), ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) }; return new Proxy({}, h)',
    OUTPUT,
    STACK,
    ERROR,
    TIME,
  ),
  attack('a revoked proxy', 'const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy', ERROR, OUTPUT),
  attack('an item of a call that must not yield', 'yield { a: 1 }', OUTPUT),
  attack('a flood of the console', "for (;;) console.log('x'.repeat(100))", TIME),
  attack(
    'a huge line',
    "console.log('x'.repeat(5e7)); console.log(Array(1e6).fill('y')); throw 1",
    ERROR,
    MEMORY,
    TIME,
  ),
  attack('a console line that never ends', 'console.log({ get a() { for (;;); } })', TIME),
  attack('throwing null', 'throw null', ERROR),
  attack('throwing undefined', 'throw undefined', ERROR),
  attack('throwing a symbol', "throw Symbol('x')", ERROR),
  attack('throwing something huge', "throw 'x'.repeat(2e7)", ERROR),
  attack('throwing a huge error', "throw new Error('x'.repeat(2e7))", ERROR),
  attack('throwing what holds itself', 'const a = []; a.push(a, a); throw a', ERROR),
  attack(
    'throwing an error with a hostile name',
    "const e = new Error(); Object.defineProperty(e, 'name', { get() { throw e } }); throw e",
    ERROR,
  ),
  attack(
    'throwing a proxy',
    'throw new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 }, getPrototypeOf() { throw 3 } })',
    ERROR,
  ),
  attack('an error that claims a path', "const e = new Error('x'); e.stack = 'at code.js:999999999:1'; throw e", ERROR),
  attack(
    'spoiled builtins',
    'JSON.stringify = Array.isArray = Object.keys = Reflect.apply = Object.getPrototypeOf = () => { for (;;); }; delete globalThis.JSON; Array.prototype[Symbol.iterator] = null; null.x',
    ERROR,
  ),
  attack('a poisoned prototype of objects', 'Object.prototype.toJSON = () => 1n; return { a: {} }', OUTPUT, ERROR),
  attack(
    'setters on the prototype of arrays',
    'for (let i = 0; i < 99; i++) Object.defineProperty(Array.prototype, i, { set() { for (;;); } }); const a = []; a[0] = 1',
    TIME,
  ),
  attack('importing a module of Node', "await import('node:fs')", ERROR),
  attack('importing a file', "await import('other')", ERROR),
  attack('import as a statement', "import fs from 'node:fs'", ERROR),
  attack(
    'the way to process by constructors',
    "return { a: console.log.constructor.constructor('return process')() }",
    ERROR,
  ),
  attack(
    'the way to process by the global object',
    "return { a: globalThis.constructor.constructor('return process')().pid }",
    ERROR,
  ),
  attack('the way to require', "return { a: eval('require')('fs') }", ERROR),
  attack('leaving the function that the code is the body of', '}); for (;;); (function* () {', TIME),
  attack('a broken function', '}) (', ERROR),
]

/** Two at a time, each line in a pool of its own: the next call of an attack meets the leftovers of that attack. */
describe('an attack', { concurrency: 2 }, () => {
  for (const line of [0, 1]) {
    describe(`of line ${line + 1}`, () => {
      const sandbox = createCodeSandbox({ workers: 1 })
      after(() => sandbox[Symbol.asyncDispose]())

      for (const { name, code, ends, time_limit_ms } of ATTACKS.filter((_, at) => at % 2 === line)) {
        test(`${name} ends its call alone`, async () => {
          const error = await failure(call(sandbox, code, { time_limit_ms }))
          assert.ok(ends.includes(error.type), `${error.type}: ${error.message}`)
          assert.deepEqual(await call(sandbox, 'return { a: x + 1 }', { inputs: { x: 1 } }), { a: 2 })
        })
      }
    })
  }
})

describe('one call does not affect the next', () => {
  const sandbox = createCodeSandbox({ workers: 1 })
  after(() => sandbox[Symbol.asyncDispose]())

  const SPOIL = `
    Object.prototype.polluted = Array.prototype.polluted = Function.prototype.polluted = 1
    globalThis.kept = 1; JSON.stringify = () => '{"a":"spoiled"}'; JSON.parse = () => ({}); Promise.prototype.then = null
    Object.keys = Array.isArray = () => false; Object.defineProperty = null
    Object.getPrototypeOf(async function* () {}).prototype.next = () => Promise.resolve({ done: true, value: {} })
    Math.random = () => 4; console.log = () => {}; inputs.x = 7`

  test('after code that changes all globals it can reach', async () => {
    await call(sandbox, `${SPOIL}\nreturn {}`, { inputs: { x: 1 } })
    const lines: string[] = []
    const code = `console.log('here')
      return { polluted: typeof {}.polluted, kept: typeof kept, list: [1].concat([2]), x, random: Math.random() < 1 }`
    assert.deepEqual(await call(sandbox, code, { inputs: { x: 1 }, log: (_, line) => lines.push(line) }), {
      polluted: 'undefined',
      kept: 'undefined',
      list: [1, 2],
      x: 1,
      random: true,
    })
    assert.deepEqual(lines, ['here'])
  })

  test('and code that changed globals still returns its own values', async () => {
    assert.deepEqual(await call(sandbox, `${SPOIL}\nreturn { a: [1, { b: 2 }] }`, { inputs: { x: 1 } }), {
      a: [1, { b: 2 }],
    })
  })

  test('and names that are special elsewhere are ordinary names here', async () => {
    const given = await call(sandbox, `return JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}')`)
    assert.deepEqual(Object.keys(given), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(given), Object.prototype)
    assert.equal(({} as { admin?: unknown }).admin, undefined)
    const inputs = JSON.parse('{"__proto__": {"admin": true}}') as Record<string, unknown>
    assert.deepEqual(await call(sandbox, 'return { admin: typeof inputs.admin, plain: typeof {}.admin }', { inputs }), {
      admin: 'undefined',
      plain: 'undefined',
    })
  })

  test('and the code finds nothing but the language', async () => {
    const names = ['process', 'require', 'module', 'Buffer', 'fetch', 'setTimeout', 'setImmediate', 'queueMicrotask']
    const more = ['WebAssembly', 'Worker', 'std', 'os', 'print', 'log', 'performance', 'crypto', 'XMLHttpRequest']
    const code = `return { found: names.filter((name) => name in globalThis || eval('typeof ' + name) !== 'undefined') }`
    assert.deepEqual(await call(sandbox, code, { inputs: { names: [...names, ...more] } }), { found: [] })
  })
})
