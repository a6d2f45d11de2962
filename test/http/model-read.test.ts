// A model by its name: as a completion finds it, for any spelling of the name in the path.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import type { Model } from '../../generated/types.ts'
import { exchange } from '../access/kit.ts'
import { MODEL, startGateway } from '../completions/kit.ts'
import { STRANGER, stored } from '../completions/workflow-kit.ts'
import { call } from '../helpers/http.ts'
import { pricedProvider } from '../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { created, greeting } from './kit.ts'

interface OpenAiErrorBody {
  readonly error: {
    readonly type: string
    readonly param: string | null
    readonly code: number
    readonly message: string
  }
}

const read = (server: TestServer, model: string) => call<Model>(server, 'GET', `/v1/models/${model}`)

async function error(server: TestServer, model: string) {
  const { status, body, text } = await call<OpenAiErrorBody>(server, 'GET', `/v1/models/${model}`)
  assert.equal(body.error?.code, status, text)
  return body.error
}

describe('retrieveModel', () => {
  test('returns every listed model, with plain or encoded slashes, and by bare names', async () => {
    await using gateway = await startGateway()
    const { server } = gateway
    const { id } = await created(server, greeting())
    const { body: list } = await call<{ data: Model[] }>(server, 'GET', '/v1/models')
    for (const named of ['builtin/echo', MODEL, `workflow/${id}`, 'workflow/greeting']) {
      const listed = list.data.find((one) => one.id === named)
      assert.ok(listed, named)
      for (const path of [named, encodeURIComponent(named)]) {
        const { status, body } = await read(server, path)
        assert.deepEqual([status, body], [200, listed])
      }
    }
    assert.deepEqual((await read(server, 'echo')).body.id, 'builtin/echo')
    assert.deepEqual((await read(server, MODEL.slice(3))).body.id, MODEL)
    assert.equal((await call(server, 'HEAD', '/v1/models/builtin/echo')).status, 200)
    assert.equal((await call(server, 'DELETE', '/v1/models/builtin/echo')).status, 405)
  })

  test('works with the official client', async () => {
    const provider = Object.assign(pricedProvider({ name: 'files' }), {
      models: async () => [
        {
          id: 'files/maker/a model+1.gguf',
          name: 'maker/a model+1.gguf',
          title: 'A file',
          tasks: ['chat'],
          price: null,
          max_output_tokens: null,
          created: 1_700_000_000,
        },
      ],
    })
    await using server = await startServer({ providers: [provider] })
    const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'any', maxRetries: 0 })
    const id = 'files/maker/a model+1.gguf'
    assert.deepEqual(await openai.models.retrieve(id), {
      id,
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'files',
    })
    await assert.rejects(openai.models.retrieve('files/maker/b'), OpenAI.NotFoundError)
  })

  test('calls only the provider that the name contains', async () => {
    const [one, two] = [pricedProvider({ name: 'one' }), pricedProvider({ name: 'two' })]
    await using server = await startServer({ providers: [one, two] })
    assert.equal((await read(server, 'two/small')).status, 200)
    assert.deepEqual([one.listed, two.listed], [0, 1])
  })

  test('gives 404 for unknown models, and for workflows of other users', async () => {
    await using server = await startServer()
    const of_others = await stored(server, greeting({ access: 'public' }), STRANGER)
    const { id } = await created(server, greeting())
    await call(server, 'DELETE', `/api/workflows/${id}`)
    const none = ['none', 'none/small', 'builtin/none', 'builtin', 'builtin/echo/', 'builtin//echo', 'builtin%00echo']
    const workflows = [of_others, id, 'hello-world', '', '%2e%2e'].map((one) => `workflow/${one}`)
    const dots = ['%2e%2e/builtin/echo', '..%2Fmodels%2Fbuiltin%2Fecho', 'builtin/%2e/echo']
    for (const model of [...none, ...workflows, ...dots])
      assert.equal((await error(server, model)).type, 'model_not_found', model)
    const told = async (one: string) => (await error(server, `workflow/${one}`)).message.replace(one, '…')
    assert.equal(await told(of_others), await told('wf_none'))
    const line = 'GET /v1/models/../models/builtin/echo HTTP/1.1\r\nHost: localhost'
    const raw = await exchange(Number(new URL(server.url).port), line)
    assert.equal(raw.status, 404)
  })

  test('gives the reason for a missing model: a name too long, no key, a failing provider', async () => {
    const keyed = pricedProvider({ name: 'keyed', credential: 'KEYED_API_KEY' })
    const failing = pricedProvider({ name: 'failing', listing: () => Promise.reject(new Error('sk-secret')) })
    await using server = await startServer({ providers: [keyed, failing] })
    assert.equal((await error(server, 'x'.repeat(513))).type, 'invalid_request')
    const no_key = await error(server, 'keyed/small')
    assert.deepEqual([no_key.code, no_key.type], [401, 'authentication_required'])
    assert.match(no_key.message, /"keyed" needs the secret "KEYED_API_KEY"/)
    const failed = await error(server, 'failing/small')
    assert.deepEqual([failed.code, failed.type], [502, 'upstream_error'])
    assert.doesNotMatch(failed.message, /sk-secret/)
  })
})
