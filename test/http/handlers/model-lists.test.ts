// Lists of models: in OpenAI's format, and with their properties. A provider that fails is reported in the service's own words.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ChatCompletion, ModelList, ProviderModelList } from '../../../generated/types.ts'
import type { Model, ProviderContext } from '../../../src/models/provider.ts'
import { ProviderError } from '../../../src/models/provider-error.ts'
import { call, refused } from '../../helpers/http.ts'
import { dollars, type PricedProvider, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { created, greeting } from '../kit.ts'

/** Without the bundled examples, which every server has. */
const list = async (server: TestServer) =>
  (await call<ModelList>(server, 'GET', '/v1/models')).body.data.filter(({ id }) => !isBundled(server, id))
const known = async (server: TestServer, query = '') => {
  const { providers, models } = (await call<ProviderModelList>(server, 'GET', `/api/models${query}`)).body
  return { providers, models: models.filter(({ id }) => !isBundled(server, id)) }
}
const isBundled = ({ context }: TestServer, model: string) =>
  context.runs.workflows.examples().some(({ id }) => model === `workflow/${id}`)
/** Providers that every server knows, without keys here. */
const ALWAYS = new Set(['anthropic', 'google', 'local', 'openai'])
const ours = ({ providers }: ProviderModelList) => providers.filter(({ provider }) => !ALWAYS.has(provider))
const ids = (models: readonly { id: string }[]) => models.map(({ id }) => id)

/** A provider with these models. */
function having(name: string, ...models: Partial<Model>[]): PricedProvider {
  const provider = pricedProvider({ name })
  const whole = { title: 'A model', tasks: ['chat'], price: null, max_output_tokens: null }
  return Object.assign(provider, {
    models: async () => models.map((model) => ({ id: `${name}/${model.name}`, name: 'm', ...whole, ...model })),
  })
}

const never = () => new Promise<never>(() => {})

describe('listModels', () => {
  test('has the models of all providers in their order, and then the caller’s workflows', async () => {
    const second = having('second', { name: 'zeta', created: 1_700_000_000 }, { name: 'alpha' })
    await using server = await startServer({ providers: [second, having('first', { name: 'one' })] })
    const { id, created_at } = await created(server, greeting())
    assert.deepEqual(await list(server), [
      { id: 'builtin/echo', object: 'model', created: 0, owned_by: 'builtin' },
      { id: 'second/alpha', object: 'model', created: 0, owned_by: 'second' },
      { id: 'second/zeta', object: 'model', created: 1_700_000_000, owned_by: 'second' },
      { id: 'first/one', object: 'model', created: 0, owned_by: 'first' },
      {
        id: `workflow/${id}`,
        object: 'model',
        created: Math.floor(Date.parse(created_at) / 1000),
        owned_by: 'workflow',
      },
    ])
  })

  test('has models to try on a fresh server', async () => {
    await using server = await startServer()
    const { data } = (await call<ModelList>(server, 'GET', '/v1/models')).body
    const greeting = { id: 'workflow/greeting', object: 'model', created: 0, owned_by: 'workflow' }
    assert.deepEqual(
      data.find(({ id }) => id === greeting.id),
      greeting,
    )
    const { models } = (await call<ProviderModelList>(server, 'GET', '/api/models?provider=workflow&q=greet')).body
    assert.deepEqual(
      models.map(({ id, name, tasks }) => [id, name, tasks]),
      [[greeting.id, 'Greeting', ['chat']]],
    )
    const messages = [{ role: 'user', content: 'Ada' }]
    const asked = { body: { model: greeting.id, messages } }
    const { body } = await call<ChatCompletion>(server, 'POST', '/v1/chat/completions', asked)
    assert.deepEqual([body.model, body.choices[0]?.message.content], [greeting.id, 'Hello, Ada!'])
  })

  test('does not wait for a silent provider, and omits failing ones', async () => {
    const looks: AbortSignal[] = []
    const listing = ({ signal }: ProviderContext) => {
      looks.push(signal)
      return never()
    }
    const silent = pricedProvider({ name: 'silent', listing })
    const failing = pricedProvider({ name: 'failing', listing: () => Promise.reject(new Error('sk-secret')) })
    await using server = await startServer({ providers: [silent, failing, having('good', { name: 'm' })] })
    const [listed, answer] = await Promise.all([list(server), call(server, 'GET', '/api/models')])
    assert.deepEqual(ids(listed), ['builtin/echo', 'good/m'])
    assert.deepEqual([looks.length, looks[0]?.aborted], [1, false], 'it waited as long as a look may take')
    assert.doesNotMatch(answer.text, /sk-secret/)
    const reasons = ours(answer.body as ProviderModelList).map(({ provider, reason }) => [provider, reason])
    assert.deepEqual(reasons, [
      ['builtin', null],
      ['failing', 'The provider "failing" did not list its models.'],
      ['good', null],
      ['silent', 'The provider "silent" did not answer in time.'],
      ['workflow', null],
    ])
  })

  test('uses the caller’s own keys', async () => {
    const provider = pricedProvider({ name: 'keyed', credential: 'KEYED_API_KEY' })
    await using server = await startServer({ providers: [provider] })
    assert.deepEqual(ids(await list(server)), ['builtin/echo'])
    await call(server, 'PUT', '/api/secrets/KEYED_API_KEY', { body: { value: 'sk-marked-key' } })
    const { text } = await call(server, 'GET', '/v1/models')
    assert.match(text, /keyed\/small/)
    assert.doesNotMatch(text, /sk-marked/)
  })
})

describe('listProviderModels', () => {
  test('returns the known properties of models, and no others', async () => {
    const models: Partial<Model>[] = [
      {
        name: 'big',
        title: 'Big One',
        tasks: ['chat', 'embedding', 'singing'],
        price: dollars(3, 15),
        max_output_tokens: 4_096,
        context_length: 100_000,
        modalities: ['image', 'text'],
        capabilities: ['tools', 'streaming'],
      },
      { name: 'vectors', tasks: ['embedding'] },
    ]
    await using server = await startServer({ providers: [having('made', ...models)] })
    const { id } = await created(server, greeting())
    const all = await known(server)
    const found = all.models
    assert.deepEqual(ours(all), [
      { provider: 'builtin', name: 'Built in', kind: 'builtin', available: true, reason: null },
      { provider: 'made', name: 'The provider made', kind: 'openai_compatible', available: true, reason: null },
      { provider: 'workflow', name: 'Workflows', kind: 'workflow', available: true, reason: null },
    ])
    assert.deepEqual(ids(found), ['builtin/echo', 'made/big', 'made/vectors', `workflow/${id}`])
    assert.deepEqual(found[1], {
      id: 'made/big',
      provider: 'made',
      name: 'Big One',
      tasks: ['chat', 'embedding'],
      modalities: ['text', 'image'],
      context_length: 100_000,
      max_output_tokens: 4_096,
      capabilities: ['streaming', 'tools'],
      price: { currency: 'USD', input_per_million: 3, output_per_million: 15 },
      available: true,
      reason: null,
    })
    const usable = { available: true, reason: null }
    const nothing = { ...usable, context_length: null, max_output_tokens: null, price: null, modalities: ['text'] }
    const vectors = { id: 'made/vectors', provider: 'made', name: 'A model', tasks: ['embedding'], capabilities: [] }
    assert.deepEqual(found[2], { ...vectors, ...nothing })
    const workflow = { id: `workflow/${id}`, provider: 'workflow', name: 'Greeting', tasks: ['chat'] }
    assert.deepEqual(found[3], { ...workflow, capabilities: ['streaming'], ...nothing })
  })

  test('names a missing secret, and reports a refused one', async () => {
    const refusal = new ProviderError('no_key', 'The provider "two" refuses the key.', { cause: new Error('sk-bad') })
    const one = pricedProvider({ name: 'one', credential: 'ONE_API_KEY' })
    const two = pricedProvider({ name: 'two', listing: () => Promise.reject(refusal) })
    await using server = await startServer({ providers: [one, two] })
    const all = await known(server)
    const [, first, second] = ours(all)
    assert.match(
      first?.reason ?? '',
      /needs the secret "ONE_API_KEY"\. Set it with PUT \/api\/secrets\/ONE_API_KEY, or ONE_API_KEY in/,
    )
    assert.deepEqual([first?.available, second?.available], [false, false])
    assert.equal(second?.reason, 'The provider "two" refuses the key.')
    assert.deepEqual(ids(all.models), ['builtin/echo'])
  })

  test('filters by provider, by task and by text', async () => {
    const made = having('made', { name: 'talk', title: 'Talker' }, { name: 'vectors', tasks: ['embedding'] })
    const other = pricedProvider({ name: 'other' })
    await using server = await startServer({ providers: [made, other] })
    const { id } = await created(server, greeting())
    const asked = async (query: string) => {
      const { providers, models } = await known(server, query)
      return [providers.map(({ provider }) => provider), ids(models)]
    }
    assert.deepEqual(await asked('?provider=made'), [['made'], ['made/talk', 'made/vectors']])
    assert.equal(other.listed, 0)
    assert.deepEqual(await asked('?provider=workflow'), [['workflow'], [`workflow/${id}`]])
    assert.deepEqual(await asked('?provider=none'), [[], []])
    assert.deepEqual((await asked('?task=embedding'))[1], ['made/vectors'])
    assert.deepEqual((await asked('?q=TALKER'))[1], ['made/talk'])
    assert.deepEqual((await asked('?q=GREET&task=chat'))[1], [`workflow/${id}`])
    assert.deepEqual(await refused(server, 'GET', '/api/models?task=singing', {}, [400, 'invalid_request']), [
      '/query/task',
    ])
  })
})
