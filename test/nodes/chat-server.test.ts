// Nodes that use models in a whole server: their preflight, the cost of their runs, and stored vectors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { startServer } from '../helpers/server.ts'
import { ended, outputs, submit } from '../jobs/kit.ts'
import { preflightOf, requirement, requirementsOf } from '../lifecycle/preflight-kit.ts'
import { resultOf, run, spent } from '../models/kit.ts'
import { declared } from './chat-kit.ts'

const model = 'priced/small'
const priced = (more = {}) =>
  pricedProvider({ models: { small: dollars(1_000_000, 0) }, embed: (text) => [text.length, 1], ...more })

/** One node, with its handles as outputs. */
function one(
  type: string,
  data: Record<string, unknown>,
  handles: readonly string[] = [],
  dynamic_outputs = {},
): Graph {
  const nodes = [node('n', type, data, { dynamic_outputs }), ...handles.map(sink)]
  return graph(
    nodes,
    handles.map((name) => `n.${name}->${name}.value`),
  )
}

const ASKING: readonly (readonly [string, Record<string, unknown>])[] = [
  ['chat.Complete', { prompt: 'one two' }],
  ['chat.Structured', { prompt: 'one two', schema: { type: 'object' } }],
  ['chat.Classify', { text: 'one two', labels: ['a', 'b'] }],
  ['chat.Extract', { text: 'one two', fields: { a: 'str' } }],
  ['chat.Summarize', { text: 'one two' }],
  ['chat.Embed', { texts: ['one', 'two'] }],
  ['vector.Index', { index: 'i', texts: ['one', 'two'] }],
  ['vector.Search', { index: 'i', query: 'one two' }],
]

describe('a preflight of nodes that use models', () => {
  test('names the model, the provider and the key that are missing, and estimates what is sent', async () => {
    const keyed = pricedProvider({ name: 'keyed', credential: 'KEYED_KEY', embed: () => [1] })
    await using server = await startServer({ providers: [priced(), keyed] })
    for (const [type, data] of ASKING) {
      const known = await preflightOf(server, one(type, { ...data, model }))
      assert.equal(requirement(known, 'model', model).status, 'available', type)
      assert.equal(known.cost!.confidence, 'estimated', type)
      assert.ok(known.cost!.amount! >= 2, type)
      const closed = requirementsOf(await preflightOf(server, one(type, { ...data, model: 'keyed/small' })))
      assert.ok(closed.includes('credential KEYED_KEY missing true'), closed.join())
      const missing = await preflightOf(server, one(type, { ...data, model: 'priced/none' }))
      assert.equal(requirement(missing, 'model', 'priced/none').status, 'missing', type)
    }
    const texts = await preflightOf(server, one('chat.Embed', { model: 'builtin/echo', texts: ['a'] }))
    assert.equal(
      requirement(texts, 'model', 'builtin/echo').message,
      'The model does not support this task (embedding).',
    )
    // The answer of an embedding has no output tokens.
    const exact = await preflightOf(server, one('chat.Embed', { model, texts: ['one', 'two'] }))
    assert.equal(exact.cost!.amount, 2)
  })
})

describe('a run of nodes that use models', () => {
  test('costs the sum of all calls, and gives typed outputs', async () => {
    const answers = ['nothing', '{"name": "Ada"}']
    const answer = (_: unknown, at: number) => ({
      pieces: [answers[at]!],
      usage: { input_tokens: 2, output_tokens: 1 },
    })
    await using server = await startServer({ providers: [priced({ answer })] })
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const nodes = [
      node('s', 'chat.Structured', { model, schema, prompt: 'Who?' }, { dynamic_outputs: { name: declared('str') } }),
      node('e', 'chat.Embed', { model }),
      sink('name'),
      sink('vector'),
    ]
    const edges = ['s.name->e.texts', 's.name->name.value', 'e.vector->vector.value']
    const { job_id, outputs: given } = await run(server, graph(nodes, edges))
    assert.deepEqual(given, { name: 'Ada', vector: [3, 1] })
    // Two answers with two input tokens each, and one text with one token.
    assert.deepEqual(spent(await resultOf(server, job_id)), [[5, 'USD', false], ['priced'], [model]])
  })

  test(
    'keeps the vectors of each user separate, also after a restart',
    inFolder(async (folder) => {
      const two = { user_id: '2', workspace_id: null }
      const found = one('vector.Search', { index: 'i', vector: [1, 0] }, ['texts'])
      {
        await using server = await startServer({ data_dir: folder })
        const writing = (text: string) =>
          one('vector.Index', { index: 'i', vectors: [[1, 0]], texts: [text] }, ['count'])
        assert.deepEqual((await run(server, writing('mine'))).outputs, { count: 1 })
        await submit(server, { graph: writing('theirs') }, two).settled()
      }
      await using server = await startServer({ data_dir: folder })
      const job = submit(server, { graph: found })
      assert.deepEqual(outputs(await ended(server, job.row.id)), { texts: ['mine'] })
      const other = submit(server, { graph: found }, two)
      await other.settled()
      assert.deepEqual(outputs(other.row), { texts: ['theirs'] })
    }),
  )
})
