// Errors of local models that cannot run: callers get the reason, and not the failure of another server.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ModelCatalog, ProviderModelList } from '../../generated/types.ts'
import { resolveModelName } from '../../src/chat/model-choice.ts'
import { createUnbilledContext } from '../../src/models/billing/billing-context.ts'
import { ModelListCache } from '../../src/models/catalogue/model-list-cache.ts'
import { MODEL_LIST_HINT } from '../../src/models/catalogue/model-name-suggestions.ts'
import type { Model } from '../../src/models/provider.ts'
import { builtinProvider } from '../../src/models/providers/builtin-echo.ts'
import { ProviderRegistry } from '../../src/models/providers/registry.ts'
import { call } from '../helpers/http.ts'
import { svc } from '../helpers/process.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { tinyModel } from '../helpers/tiny-model.ts'
import { startUpstream } from '../helpers/upstream.ts'

const REASON = 'The file of the model "local/tiny/bad" is no GGUF file, or damaged.'

/** A data folder with a damaged file, and optionally with a fake runtime. */
function folderWith(runtime: boolean) {
  const data_dir = temporaryFolder()
  mkdirSync(join(data_dir, 'models/tiny'), { recursive: true })
  writeFileSync(join(data_dir, 'models/tiny/bad.gguf'), 'nonsense')
  const manifest = join(data_dir, 'runtime/node_modules/node-llama-cpp')
  mkdirSync(manifest, { recursive: true })
  if (runtime) writeFileSync(join(manifest, 'package.json'), '{"version": "3.22.1"}')
  return { data_dir, [Symbol.dispose]: () => rmSync(data_dir, { recursive: true, force: true }) }
}

interface Preflight {
  runnable: boolean
  requirements: { kind: string; status: string; message: string | null }[]
}

const body = { model: 'local/tiny/bad', messages: [{ role: 'user', content: 'Hello' }] }

async function withServer(runtime: boolean, run: (server: Awaited<ReturnType<typeof startServer>>) => Promise<void>) {
  using folder = folderWith(runtime)
  await using server = await startServer({ data_dir: folder.data_dir, config: { probe_local_models: false } })
  await run(server)
}

test('a damaged file is reported to callers, and is listed as unavailable', async () => {
  await withServer(true, async (server) => {
    const asked = await call(server, 'POST', '/v1/chat/completions', { body })
    assert.equal(asked.status, 404, asked.text)
    const { error } = asked.body as { error: { message: string; type: string } }
    assert.deepEqual([error.message, error.type], [REASON, 'model_not_found'])
    const listed = await call<{ data: { id: string }[] }>(server, 'GET', '/v1/models')
    assert.ok(!listed.body.data.some(({ id }) => id === body.model))
    const one = await call(server, 'GET', `/v1/models/${body.model}`)
    assert.deepEqual([one.status, (one.body as typeof asked.body & { error: object }).error], [404, error])
    const catalogue = await call<ModelCatalog>(server, 'GET', '/api/sdk/v1/models?provider=local')
    assert.deepEqual(
      catalogue.body.entries.map(({ id, availability }) => [id, availability]),
      [[body.model, 'unavailable']],
    )
    const nodes = [{ id: 'say', type: 'chat.Complete', data: { model: body.model, prompt: 'x' } }]
    const made = await call(server, 'POST', '/api/workflows', { body: { name: 'Talk', graph: { nodes, edges: [] } } })
    const workflow_id = (made.body as { id: string }).id
    const asking = { workflow_id, inputs: {}, level: 'availability' }
    const { body: report, text } = await call<Preflight>(server, 'POST', '/api/sdk/v1/preflight', { body: asking })
    assert.equal(report.runnable, false, text)
    const model = report.requirements.find(({ kind }) => kind === 'model')
    assert.deepEqual([model?.status, model?.message], ['unavailable', REASON])
  })
})

test('without the runtime, files are listed with the package to install, and callers are told', async () => {
  await withServer(false, async (server) => {
    const { data_dir } = server.context.config
    writeFileSync(join(data_dir, 'models/tiny/bad.gguf'), tinyModel())
    const reason = /node-llama-cpp.* is not installed\. Install it: npm install .*runtime node-llama-cpp@/
    const asked = await call(server, 'POST', '/v1/chat/completions', { body })
    assert.equal(asked.status, 404, asked.text)
    assert.match((asked.body as { error: { message: string } }).error.message, reason)
    const { body: known } = await call<ProviderModelList>(server, 'GET', '/api/models?provider=local')
    assert.deepEqual(
      known.models.map(({ id, available }) => [id, available]),
      [[body.model, false]],
    )
    assert.match(known.models[0]?.reason ?? '', reason)
    assert.equal(known.providers[0]?.available, false)
    assert.equal(known.providers[0]?.reason, known.models[0]?.reason)
    const callable = await call<{ data: { id: string }[] }>(server, 'GET', '/v1/models')
    assert.ok(!callable.body.data.some(({ id }) => id === body.model))
  })
})

test('a damaged or missing file is reported before the missing runtime', async () => {
  await withServer(false, async (server) => {
    const told = async (model: string) => {
      const asked = await call(server, 'POST', '/v1/chat/completions', { body: { ...body, model } })
      const graph = { nodes: [{ id: 'say', type: 'chat.Complete', data: { model, prompt: 'x' } }], edges: [] }
      const made = await call<{ id: string }>(server, 'POST', '/api/workflows', { body: { name: 'Talk', graph } })
      const { id: workflow_id } = made.body
      const run = await call<{ error: { message: string } }>(server, 'POST', `/api/workflows/${workflow_id}/run`, {
        body: { params: {} },
      })
      const asking = { workflow_id, inputs: {}, level: 'availability' }
      const { body: report } = await call<Preflight>(server, 'POST', '/api/sdk/v1/preflight', { body: asking })
      const { message } = (asked.body as { error: { message: string } }).error
      const required = report.requirements.find(({ kind }) => kind === 'model')
      return {
        status: asked.status,
        message,
        failed: run.body.error.message,
        required: required?.status,
        as: required?.message,
      }
    }
    const damaged = await told(body.model)
    assert.deepEqual(damaged, { status: 404, message: REASON, failed: REASON, required: 'unavailable', as: REASON })
    const none = await told('local/foo/bar')
    const words = 'The provider "local" has no model "foo/bar".'
    assert.deepEqual(
      [none.status, none.required, none.as],
      [404, 'missing', `The provider does not list this model.${MODEL_LIST_HINT}`],
    )
    assert.deepEqual([none.message, none.failed], [words + MODEL_LIST_HINT, words + MODEL_LIST_HINT])
  })
})

test('a chat without a model takes a usable model, or says why there is none', async () => {
  const parts = (models: readonly Model[]) => {
    const provider = { ...builtinProvider, models: async () => models }
    const model_lists = new ModelListCache({ now: () => 0 })
    return {
      providers: new ProviderRegistry([provider], null),
      model_lists,
      billingOf: () => createUnbilledContext(() => null),
    }
  }
  const owner = { user_id: '1', workspace_id: null }
  const { signal } = new AbortController()
  const [echo] = await builtinProvider.models({ credential: null, signal })
  const lacking = { ...echo!, id: 'builtin/lacking', name: 'lacking', unavailable: 'It lacks what runs it.' }
  assert.equal(await resolveModelName({}, owner, parts([lacking, echo!]), signal), 'builtin/echo')
  assert.equal(await resolveModelName({}, owner, parts([lacking]), signal), 'builtin/lacking')
})

test('a bare name means the usable model', async () => {
  await using upstream = await startUpstream({ models: ['plain'] })
  using folder = folderWith(false)
  writeFileSync(join(folder.data_dir, 'models/plain.gguf'), tinyModel())
  const config = { probe_local_models: false, model_servers: [{ name: 'acme', base_url: upstream.base_url }] }
  await using server = await startServer({ data_dir: folder.data_dir, config })
  const asked = await call(server, 'POST', '/v1/chat/completions', { body: { ...body, model: 'plain' } })
  assert.equal(asked.status, 200, asked.text)
})

test('svc models says why a file cannot be used', async () => {
  using folder = folderWith(true)
  const { code, stdout } = await svc(['models', 'local'], environmentOf(folder))
  assert.match(stdout.replace(/\s+/g, ' '), new RegExp(REASON))
  assert.match(stdout, /^0 models; 0 of 1 provider ready\.$/m)
  assert.equal(code, 1)
})

test('svc models lists files without a runtime, and says once what to install', async () => {
  using folder = folderWith(false)
  writeFileSync(join(folder.data_dir, 'models/tiny/good.gguf'), tinyModel())
  const { stdout } = await svc(['models', 'local'], environmentOf(folder))
  // A shell joins continued lines in this way.
  const told = stdout.replaceAll(/ \\\n +/g, ' ')
  const command = `npm install --ignore-scripts --prefix ${folder.data_dir}/runtime node-llama-cpp@3.22.1`
  assert.equal(told.split(command).length, 2, stdout)
  assert.match(stdout, /^ {2}local\/tiny\/good {2}chat, 2,048 tokens, free$/m)
})

function environmentOf({ data_dir }: { data_dir: string }) {
  return { SVC_DATA_DIR: data_dir, SVC_PROBE_LOCAL_MODELS: 'off' }
}
