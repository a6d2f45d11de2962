// vector.*: writing, searching and removing, with given vectors and with those that a model makes; and invalid inputs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NodeServices } from '../../../src/engine/node-api/node-services.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import type { VectorAccess } from '../../../src/engine/node-api/services/vectors.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'
import { graph, node, source, start } from '../../engine/kit.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'
import { openStore } from '../../helpers/store.ts'
import { vectorsOf } from '../../vectors/kit.ts'
import { fired, needsOf, problems, services } from '../chat-kit.ts'
import { soon } from '../soon.ts'

/** The vector of a text counts its letters a, b and c. */
const letters = (text: string) => ['a', 'b', 'c'].map((letter) => text.split(letter).length - 1)

type Run = (type: string, data: Record<string, unknown>) => ReturnType<typeof fired>

async function withVectors(
  run: (fire: Run, provider: ReturnType<typeof pricedProvider>, lent: NodeServices) => Promise<void>,
) {
  await using opened = await openStore()
  const provider = pricedProvider({ embed: letters })
  const lent = services([provider], { vectors: vectorsOf(opened.store) })
  await run((type, data) => fired(type, { index: 'i', ...data }, lent), provider, lent)
}

const model = 'priced/small'

describe('vector.Index and vector.Search', () => {
  test('find texts with similar meanings, with the model of the index', () =>
    withVectors(async (fire, provider) => {
      const texts = ['aaa', 'abc', 'ccc b']
      const metadata = [{ n: 1 }, { n: 2 }, { n: 3 }]
      const { outputs } = await fire('vector.Index', { texts, metadata, model: 'small', ids: ['x', 'y', 'z'] })
      const { usage, ...rest } = outputs
      assert.deepEqual(rest, { ids: ['x', 'y', 'z'], count: 3 })
      assert.deepEqual([(usage as { model: string }).model, (usage as { calls: number }).calls], [model, 1])
      const found = (await fire('vector.Search', { query: 'cc', top_k: 2 })).outputs
      assert.deepEqual(found.matches, [
        { id: 'z', score: 0.948683, text: 'ccc b', metadata: { n: 3 } },
        { id: 'y', score: 0.57735, text: 'abc', metadata: { n: 2 } },
      ])
      assert.deepEqual(found.texts, ['ccc b', 'abc'])
      const met = (await fire('vector.Search', { query: 'cc', filter: { n: [1, 2] }, min_score: 0.1 })).outputs
      assert.deepEqual(met.texts, ['abc'])
      assert.deepEqual(
        provider.embedded.map(({ input }) => input),
        [texts, ['cc'], ['cc']],
      )
    }))

  test('make vectors and ids of the texts as they are stored', () =>
    withVectors(async (_fire, provider, lent) => {
      const vectors: VectorAccess = { ...noServices.vectors, put: async () => {} }
      const redactTexts = async (texts: readonly string[]) => texts.map((text) => text.replaceAll('hidden', '***'))
      const fire = (text: string) =>
        fired('vector.Index', { index: 'i', texts: [text], model: 'small' }, { ...lent, vectors, redactTexts })
      const [hidden, shown] = [await fire('hidden a'), await fire('*** a')]
      assert.deepEqual(hidden.outputs.ids, shown.outputs.ids)
      assert.deepEqual(
        provider.embedded.map(({ input }) => input),
        [['*** a'], ['*** a']],
      )
    }))

  test('accept given vectors without a model call', () =>
    withVectors(async (fire, provider) => {
      const { outputs } = await fire('vector.Index', {
        vectors: [
          [1, 0],
          [0, 1],
        ],
        texts: ['east', 'north'],
      })
      assert.equal(outputs.count, 2)
      assert.equal('usage' in outputs, false)
      const { matches } = (await fire('vector.Search', { vector: [1, 0.5], top_k: 1 })).outputs
      assert.deepEqual((matches as { text: string }[])[0]!.text, 'east')
      assert.deepEqual([provider.embedded.length, provider.listed], [0, 0])
    }))

  test('make one entry of the same text, whichever node writes it', () =>
    withVectors(async (fire) => {
      const first = (await fire('vector.Index', { texts: ['ab', 'ab', 'c'], model })).outputs
      const again = (await fire('vector.Index', { texts: ['ab'], model })).outputs
      const [id] = again.ids as string[]
      assert.match(id!, /^[0-9a-f]{32}$/)
      assert.deepEqual((first.ids as string[])[0], id)
      assert.deepEqual((await fire('vector.Info', {})).outputs, { exists: true, count: 2, dimensions: 3, model })
      const bare = (
        await fire('vector.Index', {
          index: 'j',
          vectors: [
            [1, 2],
            [1, 2],
          ],
        })
      ).outputs
      assert.equal(new Set(bare.ids as string[]).size, 1)
    }))

  test('write many entries in batches', () =>
    withVectors(async (fire, _, lent) => {
      const { vectors } = lent
      const parts: number[] = []
      const put: typeof vectors.put = (index, entries, ...more) => {
        parts.push(entries.length)
        return vectors.put(index, entries, ...more)
      }
      const all = Array.from({ length: 450 }, (_, at) => [1, at])
      const watched = { ...lent, vectors: { ...noServices.vectors, put } }
      const of = (data: object) => fired('vector.Index', { index: 'many', ...data }, watched)
      const { ids, count } = (await of({ vectors: all })).outputs
      assert.deepEqual([count, new Set(ids as string[]).size, parts], [450, 450, [200, 200, 50]])
      await of({ vectors: all.slice(0, 25), texts: Array(25).fill('x'.repeat(99_999)) })
      assert.deepEqual(parts.slice(3), [11, 11, 3])
      const info = await fire('vector.Info', { index: 'many' })
      assert.equal(info.outputs.count, 451)
    }))

  test('are fast for vectors that cannot be stored', () =>
    withVectors(async (fire) => {
      const vectors = Array(4_000).fill(Array(9_000).fill(0.123456789))
      const { failure } = await soon(() => fire('vector.Index', { vectors }))
      assert.match(failure, /^too_large: A vector has 9,000 numbers/)
    }))

  test('refuse a filter that is too large before any paid call', () =>
    withVectors(async (fire, provider, lent) => {
      const filter = { tags: Array.from({ length: 10_000 }, (_, at) => at) }
      const why = /^out_of_range filter: .*The filter has more than 10,000 keys and values\.$/
      assert.match(problems('vector.Search', { index: 'i', query: 'a', filter })[0]!, why)
      assert.match(problems('vector.Remove', { index: 'i', filter })[0]!, why)
      await fire('vector.Index', { texts: ['a'], model })
      const edges = ['f.output -> n.filter']
      const of = graph([source('f', filter), node('n', 'vector.Search', { index: 'i', query: 'a' })], edges)
      const outcome = await start(of, builtinRegistry, { services: lent }).execution.done
      assert.ok(outcome.status === 'failed' && outcome.error.type === 'too_large')
      assert.equal(provider.embedded.length, 1)
    }))

  test('accept empty lists of entries, and unknown indexes', () =>
    withVectors(async (fire) => {
      assert.deepEqual((await fire('vector.Index', {})).outputs, { ids: [], count: 0 })
      assert.deepEqual((await fire('vector.Info', {})).outputs, { exists: false, count: 0 })
    }))

  test('refuse lists and vectors that do not fit together', () =>
    withVectors(async (fire, provider) => {
      const why = (data: object) => problems('vector.Index', { index: 'i', ...data })[0]
      assert.match(
        why({ texts: ['a', 'b'], vectors: [[1]] })!,
        /^out_of_range vectors: .*There are 2 entries, but 1 vectors/,
      )
      assert.match(why({ texts: ['a'], ids: ['a', 'b'] })!, /^out_of_range texts: .*There are 2 entries, but 1 texts/)
      assert.match(why({ texts: ['a'] })!, /^missing_property model: .*The texts need a model/)
      assert.match(why({ ids: ['a'] })!, /^missing_property vectors: .*neither vectors nor texts/)
      assert.match(why({ vectors: Array(10_001).fill([1]) })!, /^out_of_range vectors: .*more than 10,000 entries/)
      assert.match(problems('vector.Search', { index: 'i' })[0]!, /^missing_property query: .*nothing to search for/)
      assert.equal(
        (await fire('vector.Search', { query: 'a' })).failure,
        'index_not_found: There is no vector index "i".',
      )
      assert.match((await fire('vector.Search', { vector: [1] })).failure, /^index_not_found/)
      await fire('vector.Index', { vectors: [[1, 2, 3]] })
      assert.match((await fire('vector.Search', { query: 'a' })).failure, /^bad_input: The query needs a model/)
      assert.match(
        (await fire('vector.Search', { vector: [1, 2] })).failure,
        /^bad_input: .*3 numbers, but this vector has 2/,
      )
      assert.match(
        (await fire('vector.Search', { index: '', vector: [1] })).failure,
        /^bad_input: The name of an index is empty/,
      )
      assert.equal(provider.embedded.length, 0)
    }))
})

describe('vector.Remove, vector.Info and vector.List', () => {
  test('remove entries by id, by filter or all, and list the remaining indexes', () =>
    withVectors(async (fire) => {
      const vectors = [
        [1, 0],
        [0, 1],
        [1, 1],
      ]
      await fire('vector.Index', { vectors, ids: ['a', 'b', 'c'], metadata: [{ k: 1 }, { k: 2 }, { k: 2 }] })
      const removed = async (data: object) => (await fire('vector.Remove', { ...data })).outputs.count
      assert.equal(await removed({}), 0)
      assert.equal(await removed({ ids: ['a', 'none'] }), 1)
      assert.equal(await removed({ filter: { k: 2 } }), 2)
      const { indexes } = (await fire('vector.List', {})).outputs as { indexes: Record<string, unknown>[] }
      assert.deepEqual(
        indexes.map(({ name, count, dimensions, model }) => [name, count, dimensions, model]),
        [['i', 0, 2, null]],
      )
      assert.match(
        (await fire('vector.Remove', { all: true, ids: ['a'] })).failure,
        /^bad_input: Give only one of ids, filter and all/,
      )
      assert.equal(await removed({ all: true }), 0)
      assert.deepEqual((await fire('vector.List', {})).outputs.indexes, [])
    }))

  test('need a host that keeps vectors', async () => {
    const lent = services()
    for (const [type, data] of [
      ['vector.Info', { index: 'i' }],
      ['vector.List', {}],
      ['vector.Remove', { index: 'i' }],
    ] as const)
      assert.equal(
        (await fired(type, data, lent)).failure,
        'unavailable: No vector store is available where this workflow runs.',
      )
  })
})

test('vector nodes need a model if they have no vectors', () => {
  const need = { kind: 'model', model, task: 'embedding', prompt: ['a'], max_output_tokens: 0 }
  assert.deepEqual(needsOf('vector.Index', { index: 'i', texts: ['a'], model }), [need])
  assert.deepEqual(needsOf('vector.Index', { index: 'i', texts: ['a'], vectors: [[1]], model }), [])
  assert.deepEqual(needsOf('vector.Index', { index: 'i', model }), [])
  assert.deepEqual(needsOf('vector.Index', { index: 'i', model }, ['texts']), [{ ...need, prompt: null }])
  assert.deepEqual(needsOf('vector.Search', { index: 'i', query: 'a', model }), [need])
  assert.deepEqual(needsOf('vector.Search', { index: 'i', query: 'a' }), [{ ...need, model: null }])
  assert.deepEqual(needsOf('vector.Search', { index: 'i', vector: [1], model }), [])
  assert.deepEqual(needsOf('vector.Search', { index: 'i', model }, ['vector']), [])
})

test('vector nodes with effects run even if their outputs are not used', () => {
  const effects = builtinRegistry.all().filter(({ node_type, effect }) => node_type.startsWith('vector.') && effect)
  assert.deepEqual(
    effects.map(({ node_type }) => node_type),
    ['vector.Index', 'vector.Remove'],
  )
})
