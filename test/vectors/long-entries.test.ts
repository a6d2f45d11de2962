// Entries of the greatest length next to very many short ones: few on average, but many in one place.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { VectorStore } from '../../src/vectors/vector-store.ts'
import { longestTurn } from '../helpers/loop.ts'
import { openStore } from '../helpers/store.ts'
import { entry, never, vectorsOf } from './kit.ts'

const SHORT = 20_000
const LONG = 200
/** In milliseconds: far less than reading all long entries takes. */
const LONGEST_TURN = 150

const label = '漢'.repeat(15_900)
const text = '漢'.repeat(100_000)

async function fill(vectors: VectorStore, short: number): Promise<void> {
  const short_ones = Array.from({ length: short }, (_, at) => entry(`short ${at}`, [1]))
  const long_ones = Array.from({ length: LONG }, (_, at) => entry(`long ${at}`, [1], { text, metadata: { label } }))
  await vectors.put('i', [...short_ones, ...long_ones], null, never)
}

/** Replaces the long entries with short ones. */
async function fillShortly(vectors: VectorStore): Promise<void> {
  const entries = Array.from({ length: LONG }, (_, at) => entry(`long ${at}`, [1], { metadata: { label: 'short' } }))
  await vectors.put('i', entries, null, never)
}

async function holdsLittle(work: () => Promise<void>): Promise<void> {
  const held = await longestTurn(work)
  assert.ok(held < LONGEST_TURN, `held for ${Math.round(held)} ms`)
}

describe('long entries', () => {
  test('are read a few at a time by a search, whatever is before them', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    await fill(vectors, SHORT)
    await holdsLittle(async () => {
      const query = {
        index: 'i',
        vector: [1],
        model: null,
        top_k: 3,
        min_score: null,
        filter: { label },
        signal: never,
      }
      const found = await vectors.search(query)
      assert.deepEqual(
        found.map(({ id }) => id),
        ['long 0', 'long 1', 'long 2'],
      )
    })
  })

  test('count in the memory of a run until a search has found them all', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    await fill(vectors, 1)
    const query = { index: 'i', vector: [1], model: null, top_k: LONG, min_score: null, filter: { label } }
    let [now, most] = [0, 0]
    const held = (bytes: number) => {
      now += bytes
      most = Math.max(most, now)
    }
    await vectors.search({ ...query, signal: never, onBytesHeld: held })
    assert.ok(most > LONG * 2 * text.length, `${most} bytes`)
    assert.equal(now, 0)
    const outgrown = new AbortController()
    const limited = (bytes: number) => {
      held(bytes)
      if (now > 1_000_000) outgrown.abort(new Error('too much'))
    }
    most = 0
    await assert.rejects(vectors.search({ ...query, signal: outgrown.signal, onBytesHeld: limited }), /too much/)
    assert.ok(most < 2_000_000, `${most} bytes`)
    assert.equal(now, 0)
  })

  test('are replaced a few at a time by short ones', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    await fill(vectors, 1)
    await holdsLittle(() => fillShortly(vectors))
    const { count } = (await vectors.info('i'))!
    assert.equal(count, LONG + 1)
    assert.equal(await vectors.remove('i', { label: 'short' }, never), LONG)
  })

  test('are removed a few at a time by a filter, and by their ids', async () => {
    await using opened = await openStore()
    const vectors = vectorsOf(opened.store)
    await fill(vectors, 1)
    await holdsLittle(async () => {
      assert.equal(await vectors.remove('i', ['long 0', 'none', 'long 1', 'long 2'], never), 3)
      assert.equal(await vectors.remove('i', { label }, never), LONG - 3)
    })
    assert.equal((await vectors.info('i'))!.count, 1)
    assert.equal(await vectors.remove('none', { label }, never), 0)
  })
})
