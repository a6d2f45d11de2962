// The discovery of model servers on this machine: they are found by their answers, added once, and never waited for.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DISCOVERABLE_PROVIDERS } from '../../../src/config/model-providers.ts'
import { discoverModelServers, type LocalModelServer } from '../../../src/models/providers/local-server-discovery.ts'
import { createOpenAiProvider } from '../../../src/models/providers/openai/provider.ts'
import { createBuiltinRegistry } from '../../../src/models/providers/registry.ts'
import { UpstreamClient } from '../../../src/net/upstream/client.ts'
import { pricedProvider } from '../../helpers/priced-provider.ts'
import { type Script, startUpstream, type Upstream } from '../../helpers/upstream.ts'

const signal = new AbortController().signal

function at({ port }: Pick<Upstream, 'port'>, name = 'ollama'): LocalModelServer {
  return { name, title: name, port }
}

async function found(script: Script, more: { look_ms?: number; signal?: AbortSignal } = {}): Promise<string[]> {
  await using upstream = await startUpstream({ listing: () => script })
  await using client = new UpstreamClient()
  const providers = createBuiltinRegistry()
  const parts = { client, servers: [at(upstream)], look_ms: more.look_ms ?? 5_000 }
  const names = (await discoverModelServers(providers, parts, more.signal ?? signal)).map(({ name }) => name)
  assert.deepEqual(
    providers
      .all()
      .map(({ name }) => name)
      .slice(1),
    names,
  )
  return names
}

describe('the discovery on the default ports', () => {
  test('finds a server that answers with a list of models, and can call it', async () => {
    await using upstream = await startUpstream({ models: ['gpt-4o'] })
    await using client = new UpstreamClient()
    const providers = createBuiltinRegistry()
    const [provider] = await discoverModelServers(
      providers,
      { client, servers: [at(upstream)], look_ms: 5_000 },
      signal,
    )
    assert.equal(providers.get('ollama'), provider)
    assert.deepEqual([provider!.credential, provider!.base_url], [null, upstream.base_url])
    const [looked] = upstream.requests
    assert.deepEqual([upstream.requests.length, looked!.method, looked!.path], [1, 'GET', '/v1/models'])
    assert.equal(looked!.headers.authorization, undefined)
    const [model] = await provider!.models({ credential: null, signal })
    assert.deepEqual([model!.id, model!.price?.per_million_input_tokens], ['ollama/gpt-4o', 0])
  })

  test('finds a server that has no models yet', async () => {
    assert.deepEqual(await found({ body: '{"object":"list","data":null}' }), ['ollama'])
  })

  for (const [what, script] of [
    ['a page', { body: '<html>', content_type: 'text/html' }],
    ['another list', { body: '{"data":[]}' }],
    ['a list of anything', { body: '[{"id":"x"}]' }],
    ['entries without names', { body: '{"object":"list","data":[{"name":"x"}]}' }],
    ['that it is not allowed', { status: 401, body: '{"object":"list","data":[]}' }],
    ['that it is elsewhere', { status: 302, body: '', headers: { location: '/' } }],
    ['nothing', { cuts: 'head' }],
    ['too much', { body: 'x', floods: 'line' }],
  ] as readonly (readonly [string, Script])[])
    test(`finds nothing that answers with ${what}`, async () => {
      assert.deepEqual(await found(script), [])
    })

  test('finds an empty list', async () => {
    assert.deepEqual(await found({ body: '{"object":"list","data":[]}' }), ['ollama'])
  })

  test('ends in time although a server hangs', async () => {
    assert.deepEqual(await found({ hangs: 'head' }, { look_ms: 30 }), [])
    assert.deepEqual(await found({ hangs: 'body' }, { look_ms: 30 }), [])
  })

  test('adds nothing after its end', async () => {
    const stop = new AbortController()
    await using upstream = await startUpstream({
      listing: () => {
        stop.abort()
        return {}
      },
    })
    await using client = new UpstreamClient()
    const providers = createBuiltinRegistry()
    assert.deepEqual(await discoverModelServers(providers, { client, servers: [at(upstream)] }, stop.signal), [])
    assert.equal(providers.all().length, 1)
  })

  test('skips this service, the servers in the settings, and names that are taken', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    const { port } = upstream
    const named = { title: 'Mine', credential: null, keyless: true, client }
    for (const base_url of [`http://localhost:${port}/v1`, upstream.base_url, `http://[::1]:${port}`]) {
      const mine = createOpenAiProvider({ name: 'mine', base_url, ...named })
      assert.deepEqual(
        await discoverModelServers(createBuiltinRegistry([mine]), { client, servers: [at(upstream)] }, signal),
        [],
      )
    }
    const taken = createBuiltinRegistry([pricedProvider({ name: 'ollama' })])
    assert.deepEqual(await discoverModelServers(taken, { client, servers: [at(upstream)] }, signal), [])
    assert.deepEqual(
      await discoverModelServers(createBuiltinRegistry(), { client, servers: [at(upstream)], own_port: port }, signal),
      [],
    )
    assert.equal(upstream.requests.length, 0)
  })

  test('finds a server although the settings name another host with the same port', async () => {
    await using upstream = await startUpstream()
    await using client = new UpstreamClient()
    const base_url = `http://models.example:${upstream.port}/v1`
    const far = createOpenAiProvider({ name: 'far', title: 'Far', base_url, credential: null, keyless: true, client })
    const all = await discoverModelServers(
      createBuiltinRegistry([far]),
      { client, servers: [at(upstream)], look_ms: 5_000 },
      signal,
    )
    assert.equal(all.length, 1)
  })
})

test('the default ports are those of well-known servers', () => {
  assert.deepEqual(
    DISCOVERABLE_PROVIDERS.map(({ name, port }) => [name, port]),
    [
      ['ollama', 11_434],
      ['lmstudio', 1_234],
      ['vllm', 8_000],
      ['llamacpp', 8_080],
    ],
  )
})
