// Errors of model servers that quote other secrets than the key of the call: no client sees them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { asking, post, startGateway } from '../completions/kit.ts'
import { graph, node } from '../engine/kit.ts'
import { startAnthropic } from '../helpers/anthropic-upstream.ts'
import { startGoogle } from '../helpers/google-upstream.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import type { Script } from '../helpers/upstream.ts'

const OTHER = 'planted-other-operator-79304711'
const MINE = 'planted-mine-of-a-user-88214711'
const KEYS = { anthropic: 'planted-anthropic-4711', google: 'planted-gemini-4711' }
const environment = { OTHER_API_KEY: OTHER, SVC_SECRET_UP_API_KEY: 'planted-up-key-2e8b4711' }

const showsNone = (text: string, secret: string) => assert.ok(!text.includes(secret.slice(0, 20)), text)

const gatewayThat = (answer: (secret: string) => Script, secret: string) =>
  startGateway({ answer: () => answer(secret), listing: () => answer(secret) }, { environment })

const refusals: Readonly<Record<string, (secret: string) => Script>> = {
  'a refused request': (secret) => ({ status: 400, error: { message: `wrong key ${secret}`, param: `p-${secret}` } }),
  'a missing model': (secret) => ({ status: 404, error: { message: `no model for ${secret}` } }),
  'a long message that is cut within the secret': (secret) => ({
    status: 400,
    error: { message: `${'x'.repeat(475)} ${secret}`, param: `${'p'.repeat(75)}${secret}` },
  }),
}

describe('an error of a model server', () => {
  for (const [whose, secret] of [
    ['the operator', OTHER],
    ['the caller', MINE],
  ] as const)
    for (const [what, answer] of Object.entries(refusals))
      test(`hides another secret of ${whose}: ${what}`, async () => {
        await using gateway = await gatewayThat(answer, secret)
        const { server } = gateway
        await call(server, 'PUT', '/api/secrets/MINE', { body: { value: MINE } })
        const body = JSON.stringify({ model: 'up/m', input: 'a' })
        for (const { status, text } of [
          await post(server, asking({ model: 'up/m' })),
          await post(server, asking({ model: 'up/m', stream: true })),
          await post(server, body, { path: '/v1/embeddings' }),
        ]) {
          assert.ok(status === 400 || status === 404, text)
          assert.match(text, /\[redacted\]/)
          showsNone(text, secret)
        }
        const listed = await call(server, 'GET', '/api/models')
        assert.match(listed.text, /"reason":"[^"]*\\"up\\"[^"]*\[redacted\]/)
        showsNone(listed.text, secret)
        await using client = await connect(server)
        client.command('inference', { messages: [{ role: 'user', content: 'x' }], model: 'up/m' }, 'one')
        const reply = await client.next({ type: 'rpc_response' })
        assert.match(JSON.stringify(reply.error), /\[redacted\]/)
        showsNone(JSON.stringify(client.frames), secret)
      })

  for (const [what, answer] of Object.entries(refusals))
    test(`hides another secret of the operator in a job: ${what}`, async () => {
      await using gateway = await gatewayThat(answer, OTHER)
      await using client = await connect(gateway.server)
      const ask = node('ask', 'chat.Complete', { model: 'up/m', prompt: 'x' })
      client.command('run_job', { graph: graph([ask], []) })
      const { job_id } = await client.next({ type: 'job_update', status: 'failed' })
      const stored = await call(gateway.server, 'GET', `/api/jobs/${job_id}`)
      for (const text of [JSON.stringify(client.frames), stored.text]) {
        assert.match(text, /\[redacted\]/)
        showsNone(text, OTHER)
      }
    })

  test("hides the operator's key from a caller with an own key", async () => {
    const key = environment.SVC_SECRET_UP_API_KEY
    await using gateway = await startGateway(
      { answer: () => ({ status: 400, error: { message: `budget of ${key} is exceeded` } }) },
      { environment: { UP_API_KEY: key } },
    )
    await call(gateway.server, 'PUT', '/api/secrets/UP_API_KEY', { body: { value: 'a-key-of-the-user-4711' } })
    const { text } = await post(gateway.server, asking())
    assert.match(text, /budget of \[redacted\] is exceeded/)
  })

  test('hides it with the protocols of Anthropic and Google too', async () => {
    const message = `wrong key ${OTHER}`
    await using anthropic = await startAnthropic({
      answer: () => ({ status: 400, error: { type: 'x', message } }),
      key: KEYS.anthropic,
    })
    await using google = await startGoogle({
      answer: () => ({ error: { code: 400, status: 'X', message } }),
      key: KEYS.google,
    })
    await using server = await startServer({
      environment: {
        OTHER_API_KEY: OTHER,
        ANTHROPIC_API_KEY: KEYS.anthropic,
        ANTHROPIC_BASE_URL: `${anthropic.base_url}/v1`,
        GEMINI_API_KEY: KEYS.google,
        GOOGLE_GEMINI_BASE_URL: `${google.base_url}/v1beta`,
      },
    })
    for (const model of ['anthropic/claude-opus-5-5', 'google/gemini-3.8-flash']) {
      const { status, text } = await post(server, asking({ model }))
      assert.equal(status, 400, text)
      assert.match(text, /wrong key \[redacted\]/)
    }
  })
})
