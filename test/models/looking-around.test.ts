// A server discovers the model servers on its machine soon after its start.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer, until } from '../helpers/server.ts'
import { startUpstream } from '../helpers/upstream.ts'

test('a server discovers the model servers that run on its machine', async () => {
  await using upstream = await startUpstream({ models: ['llama3'] })
  const { log, lines } = keptLog()
  const local_servers = [{ name: 'ollama', title: 'Ollama', port: upstream.port }]
  await using server = await startServer({
    log,
    local_servers,
    config: { probe_local_models: true },
  })
  assert.equal(server.context.models.providers.get('ollama'), undefined)
  const provider = await until('the provider', () => server.context.models.providers.get('ollama'))
  assert.equal(provider.base_url, upstream.base_url)
  await until('the line', () => lines.some((line) => line.includes('model server found')))
})

test('a server also discovers a slow model server, since the start does not wait for the discovery', async () => {
  const slowly = () => new Promise((resolve) => setTimeout(resolve, 400))
  await using upstream = await startUpstream({ listing: () => ({ before: slowly }) })
  const local_servers = [{ name: 'ollama', title: 'Ollama', port: upstream.port }]
  await using server = await startServer({ local_servers, config: { probe_local_models: true } })
  await until('the provider', () => server.context.models.providers.get('ollama'))
})

test('a server warns where its default provider is missing', async () => {
  const upstream = await startUpstream()
  await upstream[Symbol.asyncDispose]()
  const { log, lines } = keptLog()
  const local_servers = [{ name: 'vllm', title: 'vLLM', port: upstream.port }]
  const config = { probe_local_models: true, default_provider: 'vllm' }
  await using _server = await startServer({ log, local_servers, config })
  await until('the warning', () => lines.some((line) => line.includes('SVC_DEFAULT_PROVIDER is')))
})

test('a server discovers nothing where the settings turn that off', async () => {
  await using unseen = await startUpstream()
  await using seen = await startUpstream()
  const at = (port: number) => ({ local_servers: [{ name: 'ollama', title: 'Ollama', port }] })
  await using _quiet = await startServer(at(unseen.port))
  await using later = await startServer({ ...at(seen.port), config: { probe_local_models: true } })
  await until('the later one to look', () => later.context.models.providers.get('ollama'))
  assert.equal(unseen.requests.length, 0)
})
