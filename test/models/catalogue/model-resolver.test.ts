// Names that no list has literally: a named provider decides about them itself, and `:latest` may be left out.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ModelCatalog } from '../../../generated/types.ts'
import { asking, CHAT, type Gateway, post, startGateway } from '../../completions/kit.ts'
import { call } from '../../helpers/http.ts'
import { startServer } from '../../helpers/server.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { chat, preflightOf, requirementsOf } from '../../lifecycle/preflight-kit.ts'
import { chatting, run } from '../kit.ts'

/** It accepts every name, listed or not. */
const SAYS = { answer: () => ({ status: 200, text: 'hello' }) }

async function asked({ server }: Pick<Gateway, 'server'>, model: string, path = CHAT) {
  const { status, text } = await post(server, asking({ model }), { path })
  return { status, body: JSON.parse(text) }
}

/** A model server behind a provider name; its list was requested before. */
async function startListed(models: readonly string[], more: object = {}, environment = {}): Promise<Gateway> {
  const gateway = await startGateway({ models, ...SAYS, ...more }, { environment })
  await call<ModelCatalog>(gateway.server, 'GET', '/v1/models')
  return gateway
}

describe('a model that its provider does not list', () => {
  for (const name of ['vendor/model:online', 'vendor/model:free', 'my-deployment', 'ft:gpt-4o-mini:acme::1'])
    test(`is called by its whole name: ${name}`, async () => {
      await using gateway = await startListed(['vendor/model'])
      const { status } = await asked(gateway, `up/${name}`)
      assert.equal(status, 200)
      assert.deepEqual(
        gateway.upstream.posts.map(({ json }) => json.model),
        [name],
      )
    })

  test('is also called in the first call, and the list is not requested again', async () => {
    await using gateway = await startGateway({ models: [], ...SAYS })
    for (let call = 0; call < 3; call++) assert.equal((await asked(gateway, 'up/new')).status, 200)
    assert.equal(gateway.upstream.requests.length - gateway.upstream.posts.length, 1)
  })

  test('is 404 in our words where its provider does not have it', async () => {
    await using gateway = await startGateway({ models: ['other'] })
    const { status, body } = await asked(gateway, 'up/none')
    assert.deepEqual([status, body.error.type, body.error.param], [404, 'model_not_found', 'model'])
    assert.match(body.error.message, /^The provider "up" has no such model: /)
    assert.equal(gateway.upstream.posts.length, 1)
  })

  for (const error of [
    { message: 'The API deployment for this resource does not exist.', code: 'DeploymentNotFound' },
    { message: 'No endpoints found for vendor/none.' },
    { message: 'model "none" not found, try pulling it first', type: 'api_error' },
  ])
    test(`is also 404 where the provider says so in other words: ${error.message}`, async () => {
      await using gateway = await startGateway({ models: [], answer: () => ({ status: 404, error }) })
      const { status, body } = await asked(gateway, 'up/none')
      assert.deepEqual([status, body.error.type, body.error.param], [404, 'model_not_found', 'model'])
      assert.equal(gateway.upstream.posts.length, 1)
    })

  test('is not served as a model', async () => {
    await using gateway = await startListed(['other'])
    const { status, body } = await call<{ error: { type: string; param: string } }>(
      gateway.server,
      'GET',
      '/v1/models/up/none',
    )
    assert.deepEqual([status, body.error.type, body.error.param], [404, 'model_not_found', 'model'])
  })

  test('is unknown in the preflight, and its run is not refused', async () => {
    await using gateway = await startListed(['other'])
    const summary = await preflightOf(gateway.server, chat({ model: 'up/none', prompt: 'x' }))
    assert.deepEqual(requirementsOf(summary), ['model up/none unknown false', 'provider up available true'])
    assert.equal(summary.runnable, true)
    assert.equal((await run(gateway.server, chatting({ model: 'up/none' }))).status, 'completed')
  })

  test('belongs to the default provider where no provider lists its bare name', async () => {
    await using gateway = await startListed(['other'], {}, { SVC_DEFAULT_PROVIDER: 'up' })
    assert.equal((await asked(gateway, 'ft:mine')).status, 200)
    assert.equal(gateway.upstream.posts[0]!.json.model, 'ft:mine')
    const summary = await preflightOf(gateway.server, chat({ model: 'ft:mine', prompt: 'x' }))
    assert.equal(summary.runnable, true)
    assert.equal((await asked(gateway, 'echo')).body.model, 'builtin/echo')
    await using other = await startListed(['other'])
    assert.equal((await asked(other, 'ft:mine')).status, 404)
    assert.equal(other.upstream.posts.length, 0)
  })
})

describe('a name without the tag that its list has', () => {
  test('means the latest one, with its provider and without', async () => {
    await using gateway = await startListed(['llama3.2:latest', 'llama3.2:3b', 'qwen:latest', 'qwen'])
    for (const model of ['up/llama3.2', 'llama3.2', 'up/qwen', 'qwen', 'llama3.2:3b'])
      assert.equal((await asked(gateway, model)).status, 200, model)
    assert.deepEqual(
      gateway.upstream.posts.map(({ json }) => json.model),
      ['llama3.2:latest', 'llama3.2:latest', 'qwen', 'qwen', 'llama3.2:3b'],
    )
    const summary = await preflightOf(gateway.server, chat({ model: 'llama3.2', prompt: 'x' }))
    assert.deepEqual(requirementsOf(summary), ['model up/llama3.2:latest available true', 'provider up available true'])
  })

  test('means first the provider with exactly that name, and several latest models are told apart', async () => {
    await using one = await startUpstream({ models: ['a:latest', 'b:latest'] })
    await using two = await startUpstream({ models: ['a', 'b:latest'], ...SAYS })
    const environment = { SVC_MODEL_SERVERS: `one=${one.base_url},two=${two.base_url}` }
    await using server = await startServer({ environment })
    assert.equal((await asked({ server }, 'a')).status, 200)
    assert.equal(two.posts.length, 1)
    const { status, body } = await asked({ server }, 'b')
    assert.deepEqual([status, body.error.param], [404, 'model'])
    assert.match(body.error.message, /use one of "one\/b:latest", "two\/b:latest"\./)
  })
})

describe('an error for a bare name that no provider lists', () => {
  test('names the providers that need a key, and the keys', async () => {
    await using server = await startServer()
    const { status, body } = await asked({ server }, 'gpt-4o')
    assert.deepEqual([status, body.error.type, body.error.param], [404, 'model_not_found', 'model'])
    assert.equal(
      body.error.message,
      'No provider that could be asked has a model "gpt-4o". These providers need a key: openai (OPENAI_API_KEY), ' +
        'anthropic (ANTHROPIC_API_KEY), google (GEMINI_API_KEY). Models are named provider/name.',
    )
  })

  test('names the providers that gave no list', async () => {
    await using upstream = await startUpstream({ listing: () => ({ status: 500, body: '' }) })
    await using server = await startServer({ environment: { SVC_MODEL_SERVERS: `mine=${upstream.base_url}` } })
    const { status, body } = await asked({ server }, 'gpt-4o')
    assert.equal(status, 404)
    assert.match(body.error.message, / These providers gave no list of models: mine\. Models are named/)
  })

  test('is 401 where the default provider lacks its key, independent of the others', async () => {
    await using server = await startServer({ environment: { SVC_DEFAULT_PROVIDER: 'openai' } })
    const { status, body } = await asked({ server }, 'gpt-4o')
    assert.deepEqual([status, body.error.type], [401, 'authentication_required'])
    assert.match(body.error.message, /"openai" needs the secret "OPENAI_API_KEY"/)
    assert.equal((await asked({ server }, 'echo')).status, 200)
  })
})
