// The vector store of an owner: searches, filters, errors, and isolation from other owners.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { findVectorIndex } from '../../src/db/vectors.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { VectorQuery } from '../../src/engine/node-api/services/vectors.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import type { VectorStore } from '../../src/vectors/vector-store.ts'
import { scaled } from '../helpers/scale.ts'
import { openStore } from '../helpers/store.ts'
import { soon } from '../nodes/soon.ts'
import { entry, never, OWNER, vectorsOf } from './kit.ts'

function find(vectors: VectorStore, vector: readonly number[], more: Partial<VectorQuery> = {}) {
  const query = { index: 'i', vector, model: null, top_k: 10, min_score: null, filter: {}, signal: never, ...more }
  return vectors.search(query)
}

const ids = async (found: ReturnType<typeof find>) => (await found).map(({ id }) => id)

const refused = (type: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof NodeError && error.type === type, String(error))
  assert.match(error.message, message)
  return true
}

describe('a search', () => {
  test('gives the nearest entries first, with their scores, texts and metadata', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const entries = [
      entry('north', [0, 2], { text: 'up', metadata: { kind: 'way', at: [1, 2] } }),
      entry('east', [3, 0]),
      entry('south', [0, -1]),
      entry('between', [3, 4]),
    ]
    await vectors.put('i', entries, null, never)
    assert.deepEqual(await find(vectors, [0, 7]), [
      { id: 'north', score: 1, text: 'up', metadata: { kind: 'way', at: [1, 2] } },
      { id: 'between', score: 0.8, text: null, metadata: {} },
      { id: 'east', score: 0, text: null, metadata: {} },
      { id: 'south', score: -1, text: null, metadata: {} },
    ])
    assert.deepEqual(await ids(find(vectors, [1, 0.1], { top_k: 2 })), ['east', 'between'])
    assert.deepEqual(await ids(find(vectors, [0, 1], { min_score: 0.8 })), ['north', 'between'])
  })

  test('compares very large and very small vectors by direction, and gives the oldest of equal matches first', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const entries = [entry('b', [3e300, 4e300]), entry('a', [3e-300, 4e-300]), entry('c', [-1e300, 0])]
    await vectors.put('i', entries, null, never)
    assert.deepEqual(
      (await find(vectors, [3, 4])).map(({ id, score }) => [id, score]),
      [
        ['b', 1],
        ['a', 1],
        ['c', -0.6],
      ],
    )
  })

  test('finds only entries that match its filter', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const of = (id: string, metadata: Record<string, unknown>) => entry(id, [1, 1], { metadata })
    const entries = [
      of('a', { lang: 'en', tags: ['x', 'y'], n: 1 }),
      of('b', { lang: 'de', tags: ['y'], n: null }),
      of('c', { lang: 'fr', author: { name: 'C' } }),
      of('d', {}),
    ]
    await vectors.put('i', entries, null, never)
    const met = (filter: Record<string, unknown>) => ids(find(vectors, [1, 1], { filter }))
    assert.deepEqual(await met({ lang: 'en' }), ['a'])
    assert.deepEqual(await met({ lang: ['en', 'fr'] }), ['a', 'c'])
    assert.deepEqual(await met({ tags: 'y' }), ['a', 'b'])
    assert.deepEqual(await met({ tags: 'y', lang: 'de' }), ['b'])
    assert.deepEqual(await met({ tags: ['x', 'y'] }), ['a', 'b'])
    assert.deepEqual(await met({ n: null }), ['b'])
    assert.deepEqual(await met({ author: { name: 'C' } }), ['c'])
    assert.deepEqual(await met({ constructor: 'x' }), [])
    assert.deepEqual(await met({ lang: [] }), [])
    assert.deepEqual(await met({}), ['a', 'b', 'c', 'd'])
  })

  test('finds the same as a plain comparison with all entries', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const number = fc.integer({ min: -20, max: 20 })
    const vector = fc.tuple(number, number, number).filter((one) => one.some((part) => part !== 0))
    const property = fc.asyncProperty(
      fc.array(vector, { minLength: 1, maxLength: 450 }),
      vector,
      fc.integer({ min: 1, max: 20 }),
      async (all, asked, top_k) => {
        await vectors.remove('i', null, never)
        await vectors.put(
          'i',
          all.map((one, at) => entry(String(at), one)),
          null,
          never,
        )
        const cosine = (one: readonly number[]) =>
          one.reduce((sum, part, at) => sum + part * asked[at]!, 0) / (Math.hypot(...one) * Math.hypot(...asked))
        const wanted = all.map(cosine).sort((a, b) => b - a)
        const found = await find(vectors, asked, { top_k })
        assert.equal(found.length, Math.min(top_k, all.length))
        for (const [at, { id, score }] of found.entries()) {
          assert.ok(Math.abs(score - wanted[at]!) < 2e-6)
          assert.ok(Math.abs(score - cosine(all[Number(id)]!)) < 2e-6)
        }
      },
    )
    await fc.assert(property, { numRuns: scaled(25) })
  })

  test('of many entries lets other work run, and ends with its signal', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const many = Array.from({ length: 30_000 }, (_, at) =>
      entry(String(at), [at + 1, 1, 2, 3, 4, 5, 6, 7], { metadata: { at } }),
    )
    await vectors.put('i', many, null, never)
    const over = new AbortController()
    const found = find(vectors, [1, 1, 1, 1, 1, 1, 1, 1], { filter: { at: 29_999 }, signal: over.signal })
    // If the search had read all entries at once, it would be over before this turn.
    setImmediate(() => over.abort(new Error('enough')))
    await assert.rejects(found, /enough/)
    assert.deepEqual(await ids(find(vectors, [1, 1, 1, 1, 1, 1, 1, 1], { filter: { at: 29_999 } })), ['29999'])
  })
})

describe('while others write', () => {
  const many = (count: number, metadata: (at: number) => Record<string, unknown> = () => ({})) =>
    Array.from({ length: count }, (_, at) => entry(`${at}`, [1, at], { metadata: metadata(at) }))

  test('each entry may be the last of a slice', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store, OWNER, { slices: new TimeSliceScheduler(0) })
    await vectors.put('i', many(150), null, never)
    let turns = 0
    let over = false
    const count = () => {
      turns++
      if (!over) setImmediate(count)
    }
    count()
    await find(vectors, [1, 1])
    over = true
    assert.ok(turns > 150, `${turns} turns`)
  })

  test('a search that loses its index finds nothing of another owner', async () => {
    await using opened = await openStore()
    const [mine, yours] = [OWNER, { user_id: '2', workspace_id: null }].map((owner) =>
      vectorsOf(opened.store, owner, { slices: new TimeSliceScheduler(0) }),
    )
    await mine!.put('i', many(190), null, never)
    const before = opened.store.read((tx) => findVectorIndex(tx, OWNER, 'i'))!
    let over = false
    const found = find(mine!, [1, 1]).finally(() => {
      over = true
    })
    await mine!.remove('i', null, never)
    await yours!.put('i', [entry('secret', [1, 1]), ...many(150)], null, never)
    const after = opened.store.read((tx) => findVectorIndex(tx, { user_id: '2', workspace_id: null }, 'i'))!
    assert.deepEqual([over, after.key], [false, before.key])
    assert.deepEqual(await found, [])
  })

  test('a search returns the entries in their state at its end', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store, OWNER, { slices: new TimeSliceScheduler(0) })
    const all = ['near', 'nearer', 'other', 'gone'].map((id, at) => entry(id, [9 + at, 1], { metadata: { k: 1 } }))
    await vectors.put('i', [...all, ...many(150)], null, never)
    const found = find(vectors, [1, 0], { filter: { k: 1 }, min_score: 0.5 })
    const writing = vectorsOf(opened.store)
    await writing.put('i', [entry('nearer', [3, 4], { metadata: { k: 1 } }), entry('other', [1, 0])], null, never)
    await writing.remove('i', ['gone'], never)
    assert.deepEqual(
      (await found).map(({ id, score }) => [id, score]),
      [
        ['near', 0.993884],
        ['nearer', 0.6],
      ],
    )
  })

  test('only entries that match a filter at the end are removed', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store, OWNER, { slices: new TimeSliceScheduler(0) })
    await vectors.put(
      'i',
      many(150, (at) => ({ odd: at % 2 === 1 })),
      null,
      never,
    )
    const removed = vectors.remove('i', { odd: true }, never)
    const changed = entry('1', [1, 1], { metadata: { odd: false } })
    await vectorsOf(opened.store).put('i', [changed], null, never)
    assert.equal(await removed, 74)
    assert.equal((await find(vectors, [1, 1], { top_k: 200, filter: { odd: false } })).length, 76)
  })
})

describe('an index', () => {
  test('is created with its first entries, is listed, and keeps one entry for each id', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    assert.equal(await vectors.info('i'), null)
    assert.deepEqual(await vectors.list(), [])
    const first = [entry('a', [1, 0]), entry('b', [0, 1]), entry('a', [0, 1], { text: 'again' })]
    await vectors.put('i', first, null, never)
    await vectors.put('i', [entry('b', [1, 1])], 'm/n', never)
    await vectors.put('also', [entry('a', [1, 2, 3])], 'm/n', never)
    await vectors.put('none', [], null, never)
    const at = '2026-01-01T00:00:00.000Z'
    const known = { name: 'i', dimensions: 2, count: 2, model: 'm/n', created_at: at, updated_at: at }
    assert.deepEqual(await vectors.info('i'), known)
    assert.deepEqual(await vectors.list(), [{ ...known, name: 'also', dimensions: 3, count: 1 }, known])
    assert.deepEqual(await find(vectors, [0, 1], { top_k: 1 }), [{ id: 'a', score: 1, text: 'again', metadata: {} }])
  })

  test('is unchanged and consistent after a restart', async () => {
    await using opened = await openStore()
    const many = Array.from({ length: 450 }, (_, at) => entry(`${at}`, [at + 1, 1], { text: 'x'.repeat(at) }))
    await vectorsOf(opened.store).put('i', many, null, never)
    const vectors = vectorsOf(await opened.reopen())
    assert.equal((await vectors.info('i'))!.count, 450)
    assert.equal(await vectors.remove('i', ['7', '7', '8', 'no'], never), 2)
    assert.equal((await find(vectors, [1, 0], { top_k: 1000 })).length, 448)
    assert.equal((await vectors.info('i'))!.count, 448)
  })

  test('removes entries by id, by filter, or all at once', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    const all = Array.from({ length: 500 }, (_, at) => entry(`${at}`, [1, at], { metadata: { odd: at % 2 === 1 } }))
    await vectors.put('i', all, null, never)
    assert.equal(await vectors.remove('i', { odd: true }, never), 250)
    assert.equal(await vectors.remove('i', { odd: true }, never), 0)
    assert.equal((await vectors.info('i'))!.count, 250)
    assert.equal(await vectors.remove('i', [], never), 0)
    assert.equal(await vectors.remove('i', null, never), 250)
    assert.equal(await vectors.info('i'), null)
    assert.equal(await vectors.remove('i', null, never), 0)
    await vectors.put('i', [entry('a', [1, 2, 3])], null, never)
    assert.equal((await vectors.info('i'))!.dimensions, 3)
  })

  test('is visible only to its owner', async () => {
    await using opened = await openStore()
    const owners = [OWNER, { user_id: '2', workspace_id: null }, { user_id: '1', workspace_id: 'w' }]
    const all = owners.map((owner) => vectorsOf(opened.store, owner))
    for (const [at, vectors] of all.entries()) await vectors.put('i', [entry(`of ${at}`, [1, 1])], null, never)
    for (const [at, vectors] of all.entries()) {
      assert.deepEqual(await ids(find(vectors, [1, 1])), [`of ${at}`])
      assert.equal((await vectors.list()).length, 1)
    }
    assert.equal(await all[0]!.remove('i', ['of 1'], never), 0)
    await all[0]!.remove('i', null, never)
    await assert.rejects(find(all[0]!, [1, 1]), refused('index_not_found', /^There is no vector index "i"\.$/))
    assert.deepEqual(await ids(find(all[1]!, [1, 1])), ['of 1'])
  })
})

describe('an entry that cannot be stored', () => {
  test('is refused, and leaves the index as it was', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    await vectors.put('i', [entry('a', [1, 0])], 'm/n', never)
    const put = (one: ReturnType<typeof entry>, model: string | null = null, name = 'i') =>
      vectors.put(name, [entry('b', [1, 1]), one], model, never)
    await assert.rejects(
      put(entry('c', [1, 2, 3])),
      refused('bad_input', /"i" have 2 numbers, but this vector has 3\./),
    )
    await assert.rejects(put(entry('c', [0, 0])), refused('bad_input', /A vector must be non-empty/))
    await assert.rejects(put(entry('c', [])), refused('bad_input', /A vector must be non-empty and non-zero/))
    await assert.rejects(put(entry('c', [Number.NaN, 1])), refused('bad_input', /not a finite number/))
    await assert.rejects(put(entry('c', Array(8193).fill(1))), refused('too_large', /8,193 numbers, but at most 8,192/))
    await assert.rejects(put(entry('', [1, 1])), refused('bad_input', /^The id of an entry is empty\.$/))
    await assert.rejects(put(entry('c'.repeat(201), [1, 1])), refused('bad_input', /more than 200 characters/))
    await assert.rejects(
      put(entry('c', [1, 1], { text: 'x'.repeat(100_001) })),
      refused('too_large', /text of the entry "c"/),
    )
    const metadata = { long: 'x'.repeat(16_000) }
    await assert.rejects(put(entry('c', [1, 1], { metadata })), refused('too_large', /metadata of the entry "c"/))
    const huge = { long: Array(1000).fill(Array(1000).fill(Array(20).fill(''))) }
    await soon(() =>
      assert.rejects(
        vectors.put('i', Array(200).fill(entry('c', [1, 1], { metadata: huge })), null, never),
        refused('too_large', /metadata of the entry "c"/),
      ),
    )
    await assert.rejects(
      put(entry('c', [1, 1]), 'm'.repeat(201)),
      refused('bad_input', /^The name of a model has more/),
    )
    await assert.rejects(put(entry('c', [1, 1]), 'm/o'), refused('bad_input', /vectors of the model "m\/n"/))
    await assert.rejects(put(entry('c', [1, 1]), null, ''), refused('bad_input', /^The name of an index is empty\.$/))
    assert.deepEqual(await ids(find(vectors, [1, 1])), ['a'])
    await assert.rejects(find(vectors, [1, 1, 1]), refused('bad_input', /have 2 numbers, but this vector has 3/))
    await assert.rejects(find(vectors, [1, 1], { model: 'm/o' }), refused('bad_input', /of the model "m\/n"/))
    await assert.rejects(find(vectors, [0, 0]), refused('bad_input', /non-zero/))
  })

  test('is refused if the limits are reached', async () => {
    await using opened = await openStore()
    const small = vectorsOf(opened.store, OWNER, { most_entries: 2 })
    await small.put('i', [entry('a', [1, 0]), entry('b', [1, 0])], null, never)
    await small.put('i', [entry('a', [0, 1])], null, never)
    await assert.rejects(small.put('i', [entry('c', [1, 0])], null, never), refused('too_large', /more than 2 entries/))
    const full = vectorsOf(opened.store, OWNER, { most_bytes: 200 })
    const text = 'x'.repeat(180)
    await assert.rejects(full.put('j', [entry('c', [1, 0], { text })], null, never), refused('too_large', /200 bytes/))
    assert.equal(await full.info('j'), null)
    assert.equal((await full.info('i'))!.count, 2)
    // The database stores three bytes for each of these characters.
    const wide = entry('c', [1, 0], { text: '漢'.repeat(60) })
    await assert.rejects(full.put('j', [wide], null, never), refused('too_large', /200 bytes/))
  })
})
