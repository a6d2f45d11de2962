// Code of several owners in one sandbox: no owner waits for all the code of another, and no owner takes all workers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CodeSandbox } from '../../src/engine/node-api/services/sandbox.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import {
  LARGEST_MEMORY_LIMIT_MB,
  MAX_HELD_STREAMS_BY_OWNER,
  MAX_ITEMS_AHEAD,
  MAX_TOTAL_MEMORY_MB,
} from '../../src/sandbox/limits.ts'
import { StreamQuota } from '../../src/sandbox/stream-quota.ts'
import { FairSemaphore } from '../../src/workers/fair-semaphore.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import { call, failure, script } from './kit.ts'

const LOOP = 'for (;;);'
/** A time limit that no test waits for: calls that are served meanwhile have not waited for it. */
const FOR_EVER = 3_600_000
const COUNT = 'for (let i = 0; ; i++) yield { i }'
const [greedy, other] = [{}, 'other']

/** Calls of one owner, until they are ended. */
class Crowd implements Disposable {
  readonly #end = new AbortController()
  readonly #sandbox: CodeSandbox
  /** The number of lines that all of them have written. */
  lines = 0

  constructor(sandbox: CodeSandbox) {
    this.#sandbox = sandbox
  }

  script(code: string, more = {}) {
    const log = () => this.lines++
    return script(code, { owner: greedy, time_limit_ms: FOR_EVER, signal: this.#end.signal, log, ...more })
  }

  call(code: string, count: number): void {
    for (let i = 0; i < count; i++) this.#sandbox.call(this.script(code)).catch(() => {})
  }

  stream(code: string, more = {}) {
    return this.#sandbox.stream(this.script(code, more))
  }

  [Symbol.dispose](): void {
    this.#end.abort()
  }
}

/** Counts the threads that this process starts. */
class Started implements Disposable {
  readonly #listener = () => this.count++
  count = 0

  constructor() {
    process.on('worker', this.#listener)
  }

  [Symbol.dispose](): void {
    process.off('worker', this.#listener)
  }
}

describe('one owner of code', () => {
  test('with many long calls does not keep others waiting', { timeout: 300_000 }, async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    using crowd = new Crowd(sandbox)
    crowd.call(`console.log(); ${LOOP}`, 100)
    await until('both to run', () => crowd.lines === 2)
    for (let n = 0; n < 3; n++) await call(sandbox, 'return { n }', { owner: other, inputs: { n } })
    await sandbox.stream(script('yield { a: 1 }', { owner: other })).next()
    assert.equal(crowd.lines, 2)
  })

  test('has all workers while no other owner waits, and then one fewer', { timeout: 300_000 }, async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    using crowd = new Crowd(sandbox)
    // One worker is free half a call before the other, which shows who ends first.
    await withMoreTime(100, async (ms) => {
      const order: string[] = []
      const calls = ['greedy', 'greedy', 'greedy', 'greedy', 'other', 'other'].map((owner, at) => {
        const code = 'for (const to = Date.now() + ms; Date.now() < to; ); return {}'
        const inputs = { ms: at === 1 ? ms * 1.5 : ms }
        return sandbox.call(script(code, { owner, inputs, time_limit_ms: FOR_EVER })).then(() => order.push(owner))
      })
      await Promise.all(calls)
      assert.ok(order.lastIndexOf('other') < order.lastIndexOf('greedy'), String(order))
    })
    crowd.call(`console.log(); ${LOOP}`, 3)
    await until('both to run', () => crowd.lines === 2)
  })

  test('with all workers leaves a started one to other owners', { timeout: 300_000 }, async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    using started = new Started()
    using crowd = new Crowd(sandbox)
    crowd.call(`console.log(); ${LOOP}`, 2)
    await until('both to run, and one more to be there', () => crowd.lines === 2 && started.count === 3)
    await call(sandbox, 'return {}', { owner: other })
    assert.equal(started.count, 3, 'none beside')
  })

  test('with many streams has no more running than there are workers', { timeout: 300_000 }, async () => {
    await using sandbox = createCodeSandbox({ workers: 2 })
    using crowd = new Crowd(sandbox)
    const items = Array.from({ length: 12 }, () => crowd.stream(`yield {}; yield {}; console.log(); ${LOOP}`))
    for (const one of items)
      one
        .next()
        .then(() => one.next())
        .catch(() => {})
    await until('two to run', () => crowd.lines === 2)
    const wait = 'for (const to = Date.now() + 300; Date.now() < to; );'
    await call(sandbox, `${wait} return {}`, { owner: other })
    await sandbox.stream(script(`yield {}; ${wait} yield {}`, { owner: other })).next()
    assert.equal(crowd.lines, 2)
  })

  test('with endless streams releases its permit to others between items', { timeout: 300_000 }, async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    using crowd = new Crowd(sandbox)
    const items = crowd.stream('for (;;) { for (const to = Date.now() + 20; Date.now() < to; ); yield {} }')
    const taking = (async () => {
      let count = 0
      for await (const _ of items) count++
      return count
    })()
    for (let n = 0; n < 3; n++) await call(sandbox, 'return {}', { owner: other })
    await Promise.all([assert.rejects(taking, { name: 'AbortError' }), crowd[Symbol.dispose]()])
  })

  test('keeps a limited number of waiting streams, and leaves room for those of others', {
    timeout: 300_000,
  }, async () => {
    await using sandbox = createCodeSandbox({ workers: 1 })
    using crowd = new Crowd(sandbox)
    const items = Array.from({ length: MAX_HELD_STREAMS_BY_OWNER + 1 }, () => crowd.stream(COUNT))
    for (const one of items) await one.next()
    await call(sandbox, 'return {}', { owner: other })
    assert.equal((await failure(items.pop()!.next())).type, 'code_busy')
    const others = sandbox.stream(script(COUNT, { owner: other }))
    for (let i = 0; i < 3 * MAX_ITEMS_AHEAD; i++) assert.deepEqual((await others.next()).value, { i })
    for (const one of items) assert.deepEqual((await one.next()).value, { i: 1 })
    await others.return({})
  })
})

test('held streams have limits of number and memory, in all and per owner', () => {
  const workers = 2
  const room = MAX_TOTAL_MEMORY_MB - (workers + 1) * LARGEST_MEMORY_LIMIT_MB
  const holds = new StreamQuota(100, workers)
  const most = (owner: string, megabytes: number) => {
    let count = 0
    while (holds.reserve(owner, megabytes)) count++
    return count
  }
  assert.equal(most('small', 4), MAX_HELD_STREAMS_BY_OWNER)
  for (let i = 0; i < MAX_HELD_STREAMS_BY_OWNER; i++) holds.release('small', 4)
  const large = most('large', LARGEST_MEMORY_LIMIT_MB)
  assert.equal(large, Math.floor((room * 3) / 4 / LARGEST_MEMORY_LIMIT_MB))
  let all = large
  for (let n = 0; n < 100; n++) all += most(`owner ${n}`, LARGEST_MEMORY_LIMIT_MB)
  assert.equal(all, Math.floor(room / LARGEST_MEMORY_LIMIT_MB))
  holds.release('large', LARGEST_MEMORY_LIMIT_MB)
  assert.equal(most('late', LARGEST_MEMORY_LIMIT_MB), 1)
  assert.equal(new StreamQuota(3, 1).reserve('first', 1), true)
})

describe('permits of a FairSemaphore', () => {
  /** Requests permits for the owners of these letters, in this order. A capital letter continues work that its owner has begun. */
  function asked(limit: number, owners: string) {
    const places = new FairSemaphore(limit)
    let entered = ''
    const waiting = [...owners].map((letter) => ({
      owner: letter.toLowerCase(),
      hasBegun: letter !== letter.toLowerCase(),
      grant: () => {
        entered += letter
      },
      reject: () => {},
    }))
    for (const one of waiting) places.request(one)
    return { places, waiting, entered: () => entered }
  }

  test('go to owners in turns, and first to those that hold none', () => {
    const { places, entered } = asked(1, 'aaaabbc')
    for (const owner of 'abcabaa') places.release(owner)
    assert.equal(entered(), 'abcabaa')
  })

  test('exceed their number only for an owner without any, while one owner has all', () => {
    const { entered } = asked(2, 'aaabbc')
    assert.equal(entered(), 'aab')
    assert.equal(asked(1, 'aab').entered(), 'a')
    assert.equal(asked(3, 'abcd').entered(), 'abc')
  })

  test('have one to spare if one owner has all of several', () => {
    for (const [limit, owners, spare] of [
      [2, 'aa', true],
      [2, 'a', false],
      [2, 'ab', false],
      [2, 'aab', false],
      [1, 'a', false],
    ] as const)
      assert.equal(asked(limit, owners).places.hasSpare, spare, `${limit} ${owners}`)
  })

  test('are all used if only one owner requests them, and one fewer if others wait', () => {
    const { places, entered } = asked(2, 'aaaabbb')
    places.release('a')
    assert.equal(entered(), 'aab')
    places.release('b')
    assert.equal(entered(), 'aabb')
    places.release('b')
    places.release('b')
    assert.equal(entered(), 'aabbba')
  })

  test('with a limit per owner go to owners that hold fewer than are free', () => {
    const places = new FairSemaphore(16, 4)
    let entered = ''
    const ask = (owner: string) =>
      places.request({ owner, hasBegun: false, grant: () => (entered += owner), reject: () => {} })
    for (const owner of 'abcdefgh') for (let n = 0; n < 5; n++) ask(owner)
    assert.deepEqual([entered, places.hasSpare], ['aaaabbbbccccddef', false])
    places.release('a')
    assert.equal(entered, 'aaaabbbbccccddefg')
    for (const owner of 'efe') places.release(owner)
    assert.equal(entered, 'aaaabbbbccccddefghef')
  })

  test('go first to work that has begun', () => {
    const { places, entered } = asked(1, 'xaaAbA')
    for (const owner of 'xabaa') places.release(owner)
    assert.equal(entered(), 'xAbAaa')
  })

  test('go to the runs of one owner in turns, however many of them the owner has', () => {
    const places = new FairSemaphore(1)
    let entered = ''
    const [a1, a2, b1] = [{}, {}, {}]
    const ask = (name: string, run: object) =>
      places.request({ owner: name[0]!, run, hasBegun: false, grant: () => (entered += `${name} `), reject() {} })
    for (const [name, run] of [
      ['a1', a1],
      ['a1', a1],
      ['a1', a1],
      ['a2', a2],
      ['b1', b1],
      ['b1', b1],
    ] as const)
      ask(name, run)
    assert.equal(places.hasOtherWaiters('a', a1), true)
    for (const owner of 'ababaa') places.release(owner)
    assert.equal(entered.trim(), 'a1 b1 a1 b1 a2 a1')
    ask('a1', a1)
    ask('a1', a1)
    assert.equal(places.hasOtherWaiters('a', a1), false)
    assert.equal(places.hasOtherWaiters('a', a2), true)
  })

  test('go to others when a waiting request is cancelled', () => {
    const { places, waiting, entered } = asked(1, 'abca')
    places.cancel(waiting[1]!)
    places.release('a')
    assert.equal(entered(), 'ac')
    assert.equal(places.hasOtherWaiters('c'), true)
    assert.equal(places.hasOtherWaiters('a'), false)
  })
})
