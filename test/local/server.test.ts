// A server with a local model: what callers and workflows get of it, for real.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { bench, localRuntime } from './kit.ts'

test('a local model answers callers of /v1/chat/completions, and a workflow', { timeout: 60_000 }, async (context) => {
  const runtime = await localRuntime()
  if (runtime === null) return context.skip('skipped: node-llama-cpp cannot be installed here')
  using folders = bench(runtime, { 'tiny/talk': {} })
  await using server = await startServer({ data_dir: folders.data_dir, config: { probe_local_models: false } })
  const messages = [{ role: 'user', content: 'Hello there' }]
  const body = { model: 'local/tiny/talk', messages, max_tokens: 12, seed: 3 }
  const answer = await call(server, 'POST', '/v1/chat/completions', { body })
  assert.equal(answer.status, 200, answer.text)
  const { usage, choices } = answer.body as {
    usage: { completion_tokens: number; prompt_tokens: number }
    choices: { finish_reason: string; message: { content: string } }[]
  }
  assert.equal(usage.completion_tokens, 12)
  assert.ok(usage.prompt_tokens > 10)
  assert.equal(choices[0]?.finish_reason, 'length')
  const wrong = await call(server, 'POST', '/v1/chat/completions', { body: { ...body, logprobs: true } })
  assert.equal(wrong.status, 400)
  const graph = {
    nodes: [
      { id: 'say', type: 'chat.Complete', data: { model: body.model, prompt: 'Hello there', max_tokens: 12 } },
      { id: 'out', type: 'output.Output', data: { name: 'answer' } },
    ],
    edges: [{ id: 'e', source: 'say', sourceHandle: 'text', target: 'out', targetHandle: 'value' }],
  }
  const created = await call(server, 'POST', '/api/workflows', { body: { name: 'Talk', graph } })
  assert.equal(created.status, 201, created.text)
  const { id } = created.body as { id: string }
  const ran = await call(server, 'POST', `/api/workflows/${id}/run`, { body: { params: {} } })
  assert.equal((ran.body as { status: string }).status, 'completed', ran.text)
})
