// The providers that result from the settings of models: their URLs and keys.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError, type Environment, readConfig } from '../src/config.ts'
import { createUnbilledContext } from '../src/models/billing/billing-context.ts'
import { ModelService } from '../src/models/calls/model-service.ts'
import { ModelListCache } from '../src/models/catalogue/model-list-cache.ts'
import type { Provider } from '../src/models/provider.ts'
import { createConfiguredProviders } from '../src/models/providers/configured-providers.ts'
import type { ProviderRegistry } from '../src/models/providers/registry.ts'
import { UpstreamClient } from '../src/net/upstream/client.ts'
import { pricedProvider } from './helpers/priced-provider.ts'
import { startServer } from './helpers/server.ts'
import { startUpstream } from './helpers/upstream.ts'

const signal = new AbortController().signal

function providersOf(environment: Environment, more: readonly Provider[] = []): ProviderRegistry {
  const config = readConfig({ SVC_DATA_DIR: '/nowhere', ...environment }, { host: '127.0.0.1', port: 0 })
  return createConfiguredProviders({ config, client: new UpstreamClient(), more })
}

describe('the providers of settings', () => {
  test('always have OpenAI, which wants a key at its own address alone', () => {
    const openai = providersOf({}).get('openai')!
    assert.deepEqual(
      [openai.base_url, openai.credential, openai.keyless],
      ['https://api.openai.com/v1', 'OPENAI_API_KEY', false],
    )
    const elsewhere = providersOf({ OPENAI_BASE_URL: 'http://127.0.0.1:9/v1/' }).get('openai')!
    assert.deepEqual([elsewhere.base_url, elsewhere.keyless], ['http://127.0.0.1:9/v1', true])
  })

  test('have each server by its name, with a key of that name', () => {
    const providers = providersOf({
      SVC_MODEL_SERVERS: 'groq=https://api.groq.com/openai/v1, my-vllm=http://10.0.0.5:8000/v1/',
    })
    const { base_url, credential, keyless } = providers.get('my-vllm')!
    assert.deepEqual([base_url, credential, keyless], ['http://10.0.0.5:8000/v1', 'MY_VLLM_API_KEY', true])
    assert.equal(providers.get('groq')!.credential, 'GROQ_API_KEY')
  })

  test('each have their key in the environment under the name of its secret', () => {
    const servers = { SVC_MODEL_SERVERS: 'my-vllm=http://10.0.0.5:8000/v1' }
    const names = providersOf(servers)
      .all()
      .flatMap(({ credential }) => credential ?? [])
    assert.deepEqual(names.sort(), ['ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'MY_VLLM_API_KEY', 'OPENAI_API_KEY'])
    const environment = Object.fromEntries(names.map((name) => [name, `key of ${name}`]))
    const { provider_keys } = readConfig({ ...servers, ...environment }, { host: '127.0.0.1', port: 0 })
    assert.deepEqual(provider_keys, environment)
  })

  for (const [host, base_url] of [
    ['127.0.0.1', 'http://127.0.0.1:11434/v1'],
    ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
    ['0.0.0.0:8000', 'http://127.0.0.1:8000/v1'],
    ['[::]:8000', 'http://[::1]:8000/v1'],
    ['box:80', 'http://box/v1'],
    ['http://box', 'http://box/v1'],
    ['https://box/ollama/', 'https://box/ollama/v1'],
    ['https://box:8443', 'https://box:8443/v1'],
    [':11500', 'http://127.0.0.1:11500/v1'],
    ['box/ollama', 'http://box:11434/ollama/v1'],
    ['::1', 'http://[::1]:11434/v1'],
    ['[fe80::1]', 'http://[fe80::1]:11434/v1'],
    ['::', 'http://[::1]:11434/v1'],
    ['"box"', 'http://box:11434/v1'],
    ['ollama.com', 'https://ollama.com/v1'],
  ])
    test(`find Ollama at ${host}`, () => {
      assert.equal(providersOf({ OLLAMA_HOST: host }).get('ollama')!.base_url, base_url)
    })

  const hosts = [
    'foo://bar',
    'ftp://box',
    'user:pw@box',
    'http://user:pw@box',
    'box?q',
    'box#a',
    'box:port',
    'box:70000',
  ]
  for (const host of [...hosts, 'a b', '[nothing]', '1:2:3'])
    test(`find no Ollama at ${host}, and say what is wrong without the value`, () => {
      assert.throws(
        () => providersOf({ OLLAMA_HOST: host }),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error))
          assert.match(error.message, /OLLAMA_HOST must be a host/)
          assert.ok(!error.message.includes('pw'))
          return true
        },
      )
    })

  for (const servers of ['a-b=http://one/v1,a_b=http://two/v1', 'gemini=http://one/v1'])
    test(`have no two with one key: ${servers}`, () => {
      assert.throws(() => providersOf({ SVC_MODEL_SERVERS: servers }), /whose key would be (?:A_B|GEMINI)_API_KEY/)
    })

  for (const [entry, told] of [
    ['mine', 'the entry "mine" lacks = and a URL after it'],
    ['https://user:pw@host.example/v1', 'an entry lacks a name and = before its URL'],
    ['=http://one/v1', 'an entry has no name'],
    ['mine=', 'the entry "mine" must have an http or https URL without user, query and fragment'],
  ])
    test(`say what an entry lacks: ${entry}`, () => {
      assert.throws(
        () => providersOf({ SVC_MODEL_SERVERS: entry }),
        (error) => {
          assert.ok(error instanceof ConfigError)
          assert.deepEqual(error.problems, [`SVC_MODEL_SERVERS must be a list of name=URL; ${told}`])
          return true
        },
      )
    })

  test('have Ollama only where it is set, and as a server of that name where there is one', () => {
    assert.equal(providersOf({}).get('ollama'), undefined)
    const both = providersOf({ OLLAMA_HOST: 'box', SVC_MODEL_SERVERS: 'ollama=https://far.example/v1' })
    assert.equal(both.get('ollama')!.base_url, 'https://far.example/v1')
  })

  test('are replaced by those of a test', () => {
    const mine = pricedProvider({ name: 'openai' })
    assert.equal(providersOf({}, [mine]).get('openai'), mine)
  })
})

describe('the default provider', () => {
  test('is listed first', () => {
    assert.equal(providersOf({}).all()[0]!.name, 'builtin')
    assert.equal(providersOf({ SVC_DEFAULT_PROVIDER: 'openai' }).all()[0]!.name, 'openai')
    assert.equal(
      providersOf({ SVC_DEFAULT_PROVIDER: 'openai' })
        .all()
        .filter(({ name }) => name === 'openai').length,
      1,
    )
  })

  test('must be a known provider', () => {
    assert.throws(
      () => providersOf({ SVC_DEFAULT_PROVIDER: 'opanai', SVC_PROBE_LOCAL_MODELS: 'off', OLLAMA_HOST: 'box' }),
      (error) => {
        assert.ok(error instanceof ConfigError)
        assert.deepEqual(error.problems, [
          'SVC_DEFAULT_PROVIDER must be one of builtin, openai, anthropic, google, local, ollama, and is "opanai"',
        ])
        return true
      },
    )
  })

  test('is reported together with all other problems', () => {
    assert.throws(
      () => providersOf({ SVC_DEFAULT_PROVIDER: 'opanai', SVC_MODEL_SERVERS: 'mine', SVC_LOG_LEVEL: 'loud' }),
      (error) => {
        assert.ok(error instanceof ConfigError)
        assert.equal(error.problems.length, 3)
        return true
      },
    )
  })

  test('may be discovered on this machine later, if discovery is on', () => {
    const looking = { SVC_DEFAULT_PROVIDER: 'lmstudio' }
    assert.equal(providersOf(looking).all()[0]!.name, 'builtin')
    assert.throws(() => providersOf({ ...looking, SVC_PROBE_LOCAL_MODELS: 'off' }), ConfigError)
  })

  test('keeps a server from starting if it is unknown', async () => {
    await assert.rejects(startServer({ environment: { SVC_DEFAULT_PROVIDER: 'nobody' } }), ConfigError)
  })
})

test('a model of a server is called with the key of the caller, before that of the operator', async () => {
  await using upstream = await startUpstream({ models: ['gpt-4o'] })
  const environment = { SVC_MODEL_SERVERS: `acme=${upstream.base_url}`, ACME_API_KEY: 'sk-of-the-operator' }
  await using server = await startServer({ environment })
  const { context } = server
  const owner = { user_id: '1', workspace_id: null }
  const ask = async (model: string): Promise<string> => {
    const body = { model, messages: [{ role: 'user' as const, content: 'Hi' }] }
    let text = ''
    for await (const part of context.models.calls.accessFor(context.models.billingOf(owner)).complete({ body, signal }))
      if (part.type === 'text') text += part.text
    return text
  }
  assert.equal(await ask('acme/gpt-4o'), 'Hello from upstream')
  await context.users.secrets.put(owner, 'ACME_API_KEY', 'sk-of-the-caller')
  assert.equal(await ask('gpt-4o'), 'Hello from upstream')
  const keys = upstream.posts.map(({ headers }) => headers.authorization)
  assert.deepEqual(keys, ['Bearer sk-of-the-operator', 'Bearer sk-of-the-caller'])
})

test('a bare name means the default provider, though others have it', async () => {
  await using upstream = await startUpstream({ models: ['small'] })
  await using client = new UpstreamClient()
  const settings = { SVC_MODEL_SERVERS: `acme=${upstream.base_url}`, SVC_DEFAULT_PROVIDER: 'acme' }
  const config = readConfig(settings, { host: '127.0.0.1', port: 0 })
  const providers = createConfiguredProviders({ config, client, more: [pricedProvider()] })
  const models = new ModelService({ providers, model_lists: new ModelListCache({ now: () => 0 }) })
  const { provider } = await models.find(
    'small',
    createUnbilledContext(() => null),
    signal,
  )
  assert.equal(provider.name, 'acme')
})

test('processes that run models get variables of the system, and none that may be secret', () => {
  const environment = { PATH: '/bin', HOME: '/home/x', SVC_SECRET_A: 'a', HF_TOKEN: 'b', AWS_SECRET_ACCESS_KEY: 'c' }
  const { runtime_environment } = readConfig(environment, { host: '127.0.0.1', port: 0 })
  assert.deepEqual(runtime_environment, { PATH: '/bin', HOME: '/home/x' })
})
