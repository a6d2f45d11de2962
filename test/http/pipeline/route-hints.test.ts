// Hints for unknown paths whose intended path is known; otherwise the answer is that of any unknown path.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { call } from '../../helpers/http.ts'
import { startServer } from '../../helpers/server.ts'

const BASE_URL = 'Not found. The base URL for OpenAI clients ends in /v1.'
const RESPONSES = 'OpenAI’s Responses API is not supported. Use chat completions: POST /v1/chat/completions.'
const PLAIN = 'Not found.'

const TOLD: readonly (readonly [method: string, path: string, message: string])[] = [
  ['POST', '/chat/completions', BASE_URL],
  ['POST', '/embeddings', BASE_URL],
  ['POST', '/responses', BASE_URL],
  ['GET', '/models', BASE_URL],
  ['GET', '/models/builtin/echo', BASE_URL],
  ['POST', '/v1/responses', RESPONSES],
  ['GET', '/v1/responses/resp_1', RESPONSES],
  ['GET', '/chat/completions', PLAIN],
  ['POST', '/api/chat/completions', PLAIN],
  ['POST', '/api/embeddings', PLAIN],
  ['GET', '/api/v1/models', PLAIN],
  ['GET', '/model', PLAIN],
  ['POST', '/v1/completions', PLAIN],
]

test('an unknown path gets a hint to the intended path', async () => {
  await using server = await startServer()
  for (const [method, path, message] of TOLD) {
    const body = method === 'POST' ? { body: {} } : {}
    const { status, body: told } = await call<{ error: Record<string, unknown> }>(server, method, path, body)
    const { param: _param, ...error } = told.error
    assert.deepEqual([status, error], [404, { message, type: 'not_found', code: 404 }], `${method} ${path}`)
  }
})

test('unauthenticated callers get no hint', async () => {
  await using server = await startServer({ environment: { SVC_TRUST_LOCALHOST: 'false' } })
  for (const [method, path] of TOLD) {
    const { status, body } = await call(server, method, path)
    assert.deepEqual([status, body], [401, { error: 'Remote access requires authentication' }], `${method} ${path}`)
  }
})

test('OpenAI’s own client shows the hint', async () => {
  await using server = await startServer()
  const clientAt = (baseURL: string) => new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'x' }]
  const completion = clientAt(server.url).chat.completions.create({ model: 'builtin/echo', messages })
  await assert.rejects(completion, { status: 404, message: `404 ${BASE_URL}` })
  const response = clientAt(`${server.url}/v1`).responses.create({ model: 'builtin/echo', input: 'x' })
  await assert.rejects(response, { status: 404, message: `404 ${RESPONSES}` })
})
