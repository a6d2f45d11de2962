// Tests the contract of object stores on each of them: a folder, and a bucket behind a folder.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { compareKeys, sha256OfBytes } from '../../src/assets/storage-keys.ts'
import { LocalObjectStore } from '../../src/assets/stores/local-object-store.ts'
import type { ObjectStore } from '../../src/assets/stores/object-store.ts'
import { SpooledBucketStore } from '../../src/assets/stores/spooled-bucket-store.ts'
import { createLog } from '../../src/log.ts'
import { scaled } from '../helpers/scale.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type BucketServer, startBucketServer } from './bucket-server.ts'
import { bytesOf, textOf } from './kit.ts'

/** A store that a test closes and opens again, and whose clock it turns. */
interface Bench extends AsyncDisposable {
  readonly store: ObjectStore
  /** Milliseconds since the epoch. */
  now: number
  /** Resolves when no background work is left. */
  settled(): Promise<unknown>
  restart(): Promise<void>
}

const START = 1_767_225_600_000
const MIB = 1024 * 1024

let server: BucketServer
let folders = 0
before(async () => {
  server = await startBucketServer()
})
after(() => server[Symbol.asyncDispose]())

async function localBench(): Promise<Bench> {
  const root = temporaryFolder()
  const open = () => new LocalObjectStore(root, () => bench.now)
  const bench = {
    now: START,
    store: null as unknown as ObjectStore,
    settled: async () => {},
    restart: async () => {
      bench.store = open()
    },
    [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true }),
  }
  bench.store = open()
  return bench
}

async function bucketBench(): Promise<Bench> {
  const root = temporaryFolder()
  folders += 1
  const folder = `contract-${folders}`
  const sizes = { whole_bytes: 6 * MIB, part_bytes: 5 * MIB }
  const times = { retry_ms: 5, pause_ms: 1 }
  const options = { folder, owner: 'db_1', now: () => bench.now, log: createLog('silent'), sizes, times }
  const open = () => SpooledBucketStore.open(root, server.settings, options)
  const bench = {
    now: START,
    store: null as unknown as SpooledBucketStore,
    settled: () => until('nothing to be under way', () => bench.store.pending === 0),
    restart: async () => {
      await bench.store[Symbol.asyncDispose]()
      bench.store = await open()
    },
    [Symbol.asyncDispose]: async () => {
      await bench.store[Symbol.asyncDispose]()
      rmSync(root, { recursive: true })
    },
  }
  bench.store = await open()
  return bench
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytesOf(text)
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield bytesOf('half of it')
  throw new Error('the line was cut')
}

async function whole(store: ObjectStore, key: string): Promise<string | null> {
  const facts = await store.stat(key)
  return facts && textOf(await store.get(key, { start: 0, length: facts.size }))
}

async function allKeys(store: ObjectStore, limit: number): Promise<string[]> {
  const found: string[] = []
  for (let page = await store.list(null, limit); page.length > 0; page = await store.list(found.at(-1)!, limit)) {
    assert.ok(page.length <= limit)
    found.push(...page)
  }
  return found
}

for (const [name, open] of [
  ['a folder', localBench],
  ['a bucket behind a folder', bucketBench],
] as const) {
  describe(name, () => {
    test('returns what was put, here and there', async () => {
      await using bench = await open()
      const expected = { size: 11, sha256: sha256OfBytes(bytesOf('Hello, Ada!')) }
      assert.deepEqual(await bench.store.put('a/b', bytesOf('Hello, Ada!')), expected)
      assert.deepEqual(await bench.store.put('a/c', chunks('Hello', '', ', Ada!')), expected)
      bench.store.putSync('d', bytesOf('Hello, Ada!'))
      const tailed = await bench.store.put('e', bytesOf('Hello, '), ({ size }) => bytesOf(`Ada${'!'.repeat(size - 6)}`))
      assert.equal(tailed.size, 7)
      await bench.store.put('empty', new Uint8Array())
      for (let round = 0; round < 3; round++) {
        for (const key of ['a/b', 'a/c', 'd', 'e']) {
          assert.equal(await whole(bench.store, key), 'Hello, Ada!', key)
          assert.equal(await textOf(await bench.store.get(key, { start: 7, length: 3 })), 'Ada')
          assert.equal(await textOf(await bench.store.get(key, { start: 0, length: 1 })), 'H')
          assert.equal(await textOf(await bench.store.get(key, { start: 11, length: 0 })), '')
          assert.deepEqual(await bench.store.stat(key), { size: 11, put_at: START })
          await assert.rejects(bench.store.get(key, { start: 9, length: 3 }), /too few .*for 3 from 9/)
          await assert.rejects(bench.store.get(key, { start: 12, length: 3 }), /too few .*for 3 from 12/)
        }
        assert.equal(await whole(bench.store, 'empty'), '')
        assert.deepEqual(await bench.store.list(null, 9), ['a/b', 'a/c', 'd', 'e', 'empty'])
        await (round === 0 ? bench.settled() : bench.restart())
      }
    })

    test('returns null for other keys, and refuses invalid ones', async () => {
      await using bench = await open()
      await bench.store.put('a/b', bytesOf('x'))
      for (const settle of [false, true]) {
        if (settle) await bench.settled()
        for (const key of ['x', 'a/c', 'a/b/c', 'a', 'b']) {
          assert.equal(await bench.store.get(key, { start: 0, length: 1 }), null, key)
          assert.equal(await bench.store.get(key, { start: 0, length: 0 }), null, key)
          assert.equal(await bench.store.stat(key), null, key)
          assert.equal(await bench.store.delete(key), false, key)
        }
      }
      for (const key of ['', '../x', '/etc/passwd', 'a/../../x', 'a\0', 'a\\..\\b', 'a//b', 'k'.repeat(1_025)]) {
        await assert.rejects(bench.store.put(key, bytesOf('x')), TypeError, key)
        assert.throws(() => bench.store.putSync(key, bytesOf('x')), TypeError, key)
        await assert.rejects(bench.store.get(key, { start: 0, length: 1 }), TypeError, key)
        await assert.rejects(bench.store.stat(key), TypeError, key)
        await assert.rejects(bench.store.delete(key), TypeError, key)
      }
      assert.deepEqual(await bench.store.list(null, 10), ['a/b'])
    })

    test('takes keys with every character that a key may have', async () => {
      await using bench = await open()
      const keys = ["!'()*", '+ %2F', '~-_.', '=&?#', ',;:@$', '<>"^`{|}', '...', 'ä/ß', '%', '🜚'].map(
        (key) => `s/${key}`,
      )
      for (const key of keys) await bench.store.put(key, bytesOf(key))
      await bench.settled()
      await bench.restart()
      for (const key of keys) {
        assert.equal(await whole(bench.store, key), key)
        assert.equal(await bench.store.delete(key), true, key)
        assert.equal(await bench.store.stat(key), null)
      }
    })

    test('replaces the present object, while its readers go on', async () => {
      await using bench = await open()
      const old = Buffer.alloc(3 * MIB, 'old')
      await bench.store.put('k', old)
      const readers = [await bench.store.get('k', { start: 0, length: old.length })]
      await bench.settled()
      readers.push(await bench.store.get('k', { start: 0, length: 10 }))
      await bench.store.put('k', bytesOf('newer'))
      assert.equal(await whole(bench.store, 'k'), 'newer')
      assert.equal(await textOf(readers[0]!), old.toString())
      assert.equal(await textOf(readers[1]!), 'oldoldoldo')
      await bench.settled()
      assert.equal(await whole(bench.store, 'k'), 'newer')
    })

    test('stores nothing of a source that fails, and keeps the present object', async () => {
      await using bench = await open()
      await bench.store.put('old', bytesOf('old'))
      for (const settle of [false, true]) {
        if (settle) await bench.settled()
        await assert.rejects(bench.store.put('new', broken()), /the line was cut/)
        await assert.rejects(bench.store.put('old', broken()), /the line was cut/)
        await assert.rejects(bench.store.receive(broken()), /the line was cut/)
        assert.equal(await whole(bench.store, 'old'), 'old')
        assert.deepEqual(await bench.store.list(null, 10), ['old'])
      }
    })

    test('receives bytes that get their key at the end, or none', async () => {
      await using bench = await open()
      {
        using received = await bench.store.receive(chunks('kept', ' bytes'))
        assert.deepEqual([received.size, received.sha256], [10, sha256OfBytes(bytesOf('kept bytes'))])
        assert.equal(Buffer.from(received.head).toString(), 'kept bytes')
        received.commit('r/kept')
        using _left = await bench.store.receive(chunks('left'))
      }
      await bench.settled()
      assert.deepEqual(await bench.store.list(null, 10), ['r/kept'])
      assert.equal(await whole(bench.store, 'r/kept'), 'kept bytes')
      // Content that is put again gets a new time.
      bench.now += 60_000
      bench.store.putSync('r/kept', bytesOf('kept bytes'))
      await bench.settled()
      assert.deepEqual(await bench.store.stat('r/kept'), { size: 10, put_at: START + 60_000 })
    })

    test('deletes at once and for good, and keeps an object that was put since', async () => {
      await using bench = await open()
      for (const settle of [false, true]) {
        await bench.store.put('k/1', bytesOf('abc'))
        await bench.store.put('k/2', bytesOf('abc'))
        if (settle) await bench.settled()
        const reader = await bench.store.get('k/1', { start: 0, length: 3 })
        assert.equal(await bench.store.delete('k/1', START), false)
        assert.equal(await bench.store.delete('k/1', START + 1), true)
        assert.equal(await bench.store.stat('k/1'), null)
        assert.equal(await bench.store.get('k/1', { start: 0, length: 3 }), null)
        assert.deepEqual(await bench.store.list(null, 10), ['k/2'])
        assert.equal(await textOf(reader), 'abc')
        assert.equal(await bench.store.delete('k/1'), false)
        await bench.restart()
        await bench.settled()
        assert.equal(await bench.store.stat('k/1'), null)
        assert.equal(await bench.store.delete('k/2'), true)
      }
    })

    test('lists every key once, page by page, also after a deleted one', async () => {
      await using bench = await open()
      const keys = Array.from({ length: 23 }, (_, i) => `l/${String(i % 4)}/${String(i)}`).sort(compareKeys)
      for (const [i, key] of keys.entries()) {
        await bench.store.put(key, bytesOf(key))
        if (i === 11) await bench.settled()
      }
      for (const limit of [1, 2, 7, 23, 100]) assert.deepEqual(await allKeys(bench.store, limit), keys)
      assert.deepEqual(await bench.store.list(null, 0), [])
      await bench.settled()
      for (const limit of [3, 1_000]) assert.deepEqual(await allKeys(bench.store, limit), keys)
      await bench.store.delete(keys[3]!)
      assert.deepEqual(await bench.store.list(keys[3]!, 2), keys.slice(4, 6))
      assert.deepEqual(await bench.store.list(keys[1]!, 2), [keys[2], keys[4]])
    })

    test('keeps large objects, and gives any part of them', async () => {
      await using bench = await open()
      const large = new Uint8Array(12 * MIB + 17).map((_, i) => (i * 31) % 251)
      const pieces = async function* () {
        for (let at = 0; at < large.length; at += 700_001) yield large.subarray(at, at + 700_001)
      }
      const { sha256 } = await bench.store.put('large', pieces())
      assert.equal(sha256, sha256OfBytes(large))
      await bench.settled()
      const stream = await bench.store.get('large', { start: 0, length: large.length })
      const got: Uint8Array[] = []
      for await (const chunk of stream!) got.push(chunk as Uint8Array)
      assert.ok(Buffer.concat(got).equals(large))
      await fc.assert(
        fc.asyncProperty(fc.nat(large.length), fc.nat(100_000), async (start, more) => {
          const length = Math.min(more, large.length - start)
          const part = await bench.store.get('large', { start, length })
          const bytes: Uint8Array[] = []
          for await (const chunk of part!) bytes.push(chunk as Uint8Array)
          assert.ok(Buffer.concat(bytes).equals(large.subarray(start, start + length)))
        }),
        { numRuns: scaled(10) },
      )
      const left = await bench.store.get('large', { start: 0, length: large.length })
      left!.destroy()
    })

    test('behaves like a map of keys under any operations', async () => {
      const key = fc.constantFrom('a/a', 'a/b', 'b/0', 'b/c', 'z')
      const step = fc.oneof(
        fc.record({ kind: fc.constantFrom('put', 'tail' as const), key, text: fc.string({ maxLength: 40 }) }),
        fc.record({ kind: fc.constant('content' as const), text: fc.constantFrom('x', 'yy', 'zzz') }),
        fc.record({ kind: fc.constant('delete' as const), key, since: fc.option(fc.nat(20), { nil: null }) }),
        fc.record({ kind: fc.constant('list' as const), after: fc.option(key, { nil: null }), limit: fc.nat(6) }),
        fc.record({ kind: fc.constantFrom('settle' as const, 'restart' as const) }),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
          await using bench = await open()
          const model = new Map<string, { text: string; put_at: number }>()
          for (const one of steps) {
            bench.now += 1_000
            if (one.kind === 'put') {
              await bench.store.put(one.key, bytesOf(one.text))
              model.set(one.key, { text: one.text, put_at: bench.now })
            } else if (one.kind === 'tail') {
              bench.store.putSync(one.key, bytesOf(one.text), bytesOf('.'))
              model.set(one.key, { text: `${one.text}.`, put_at: bench.now })
            } else if (one.kind === 'content') {
              bench.store.putSync(`c/${one.text}`, bytesOf(one.text))
              model.set(`c/${one.text}`, { text: one.text, put_at: bench.now })
            } else if (one.kind === 'delete') {
              const since = one.since === null ? undefined : bench.now - one.since * 1_000
              const found = model.get(one.key)
              const gone = found !== undefined && found.put_at < (since ?? Number.POSITIVE_INFINITY)
              assert.equal(await bench.store.delete(one.key, since), gone)
              if (gone) model.delete(one.key)
            } else if (one.kind === 'list') {
              const keys = [...model.keys()].sort(compareKeys).filter((k) => one.after === null || k > one.after)
              assert.deepEqual(await bench.store.list(one.after, one.limit), keys.slice(0, one.limit))
            } else await (one.kind === 'settle' ? bench.settled() : bench.restart())
          }
          for (const settle of [false, true]) {
            if (settle) await bench.settled()
            for (const at of ['a/a', 'a/b', 'b/0', 'b/c', 'z', 'c/x', 'c/yy', 'c/zzz']) {
              const expected = model.get(at)
              assert.equal(await whole(bench.store, at), expected?.text ?? null, at)
              assert.equal((await bench.store.stat(at))?.put_at, expected?.put_at, at)
            }
          }
        }),
        { numRuns: scaled(12) },
      )
    })

    test('of many writers of one key, one wins completely, and all invariants hold', async () => {
      await using bench = await open()
      for (let round = 0; round < scaled(5); round++) {
        const texts = Array.from({ length: 6 }, (_, i) => `${round}.${i}`.repeat(5_000 + 777 * i))
        if (round % 2 === 1) await bench.settled()
        const seen: (string | null)[] = []
        await Promise.all([
          ...texts.map((text) => bench.store.put('k', chunks(text.slice(0, 7_000), text.slice(7_000)))),
          bench.store.delete('k'),
          ...texts.map(async () => {
            // The size may be that of another object by then. The bytes of one object are too few for the range of another, and never
            // mixed.
            const facts = await bench.store.stat('k')
            const stream = facts && (await bench.store.get('k', { start: 0, length: Math.min(facts.size, 15_000) }))
            seen.push(await textOf(stream))
          }),
        ])
        const possible = [...texts, ...Array.from({ length: 6 }, (_, i) => `${round - 1}.${i}`.repeat(5_000 + 777 * i))]
        for (const text of seen)
          assert.ok(text === null || possible.some((one) => one.startsWith(text)), text?.slice(0, 9))
        const kept = await whole(bench.store, 'k')
        assert.ok(kept === null || texts.includes(kept))
        await bench.settled()
        assert.equal(await whole(bench.store, 'k'), kept)
      }
    })

    test('an object that is put after a delete stays, however close they are', async () => {
      await using bench = await open()
      for (let round = 0; round < scaled(10); round++) {
        await bench.store.put('k', bytesOf('old'))
        if (round % 2 === 1) await bench.settled()
        const deleted = bench.store.delete('k')
        bench.store.putSync('k', bytesOf('young'), bytesOf('er'))
        await deleted
        assert.equal(await whole(bench.store, 'k'), 'younger')
        if (round % 3 === 1) await bench.restart()
        await bench.settled()
        assert.equal(await whole(bench.store, 'k'), 'younger')
      }
    })
  })
}
