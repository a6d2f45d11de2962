// A preflight of calls of models matches their runs: for servers without a list, for guessed tasks, and for certain refusals.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { graph, node } from '../engine/kit.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { startUpstream, type Upstream } from '../helpers/upstream.ts'
import type { VendorUpstream } from '../helpers/vendor-upstream.ts'
import { chat, issuesOf, preflightOf, requirement, requirementsOf } from '../lifecycle/preflight-kit.ts'
import { chatting, run } from './kit.ts'
import { KEY } from './vendor-kit.ts'

let unlisted: Upstream
let listed: Upstream
let claude: VendorUpstream
let server: TestServer

before(async () => {
  unlisted = await startUpstream({ listing: () => ({ status: 404, body: 'no such route' }) })
  listed = await startUpstream({ models: ['my-embedding-talker', 'talker'] })
  claude = await startAnthropic()
  const environment = {
    SVC_MODEL_SERVERS: `bare=${unlisted.base_url},known=${listed.base_url}`,
    ANTHROPIC_BASE_URL: claude.base_url,
    ANTHROPIC_API_KEY: KEY,
  }
  server = await startServer({ environment })
})
after(async () => {
  for (const one of [server, unlisted, listed, claude]) await one[Symbol.asyncDispose]()
})

describe('the preflight of a call', () => {
  test('to a server without a list tells nothing, and does not prevent the run', async () => {
    const model = 'bare/gpt-4o'
    const summary = await preflightOf(server, chat({ model, prompt: 'x' }))
    assert.deepEqual(requirementsOf(summary), [`model ${model} unknown false`, 'provider bare unknown false'])
    assert.equal(summary.runnable, true)
    const { status, outputs } = await run(server, chatting({ model }))
    assert.deepEqual([status, [outputs.out].flat().join('')], ['completed', 'Hello from upstream'])
    const missing = await run(server, chatting({ model: 'bare/nothing' }))
    assert.equal(missing.error?.type, 'model_not_found')
  })

  test('does not refuse by a guess from the name of the model', async () => {
    const model = 'known/my-embedding-talker'
    const summary = await preflightOf(server, chat({ model, prompt: 'x' }))
    assert.deepEqual(requirementsOf(summary), [`model ${model} available true`, 'provider known available true'])
    assert.equal((await run(server, chatting({ model }))).status, 'completed')
    const texts = graph([node('embed', 'chat.Embed', { model: 'known/talker', texts: ['x'] })], [])
    assert.equal((await preflightOf(server, texts)).runnable, true)
    assert.equal((await run(server, texts)).status, 'completed')
  })

  test('tells a refusal that is certain', async () => {
    const model = 'anthropic/claude-opus-5-5'
    const summary = await preflightOf(server, chat({ model, prompt: 'x', seed: 7 }))
    assert.equal(summary.runnable, false)
    const { status, message } = requirement(summary, 'model', model)
    assert.deepEqual([status, message], ['unavailable', 'The provider does not support "seed".'])
    assert.equal((await run(server, chatting({ model, seed: 7 }))).status, 'failed')
    assert.equal((await preflightOf(server, chat({ model, prompt: 'x' }))).runnable, true)
  })

  test('tells invalid schemas and texts before any request is sent', async () => {
    const model = 'builtin/echo'
    const schema = (age: object) => ({ type: 'object', properties: { age } })
    const of = (type: string, data: object) => preflightOf(server, graph([node('n', type, { model, ...data })], []))
    const issues = async (type: string, data: object) => issuesOf(await of(type, data))
    for (const wrong of [{ type: 'strng' }, { minLength: -1 }, { items: { required: 'all' } }])
      assert.deepEqual(await issues('chat.Structured', { prompt: 'x', schema: schema(wrong) }), [
        'error graph_invalid_expression n schema',
      ])
    assert.deepEqual(await issues('chat.Structured', { prompt: 'x', schema: schema({ type: 'string' }) }), [])
    assert.deepEqual(await issues('chat.Embed', { texts: ['a', ''] }), ['error graph_out_of_range n texts'])
  })
})
