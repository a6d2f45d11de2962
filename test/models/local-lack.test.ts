// Local model files without the runtime, or with an unsupported version of it: the models are listed with the package to install.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { findUnavailability } from '../../src/models/catalogue/provider-models.ts'
import { createConfiguredProviders } from '../../src/models/providers/configured-providers.ts'
import { createLocalProvider } from '../../src/models/providers/local/provider.ts'
import { findRuntimePackage } from '../../src/models/providers/local/runtime-package.ts'
import { UpstreamClient } from '../../src/net/upstream/client.ts'
import { inFolder } from '../helpers/folder.ts'
import { tinyModel } from '../helpers/tiny-model.ts'

const CONTEXT = { credential: null, signal: new AbortController().signal }
const COMMAND = (folder: string) => `npm install --ignore-scripts --prefix ${folder} node-llama-cpp@3.22.1`

function write(folder: string, path: string, content: string | Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

function install(folder: string, version: string): void {
  write(folder, 'node_modules/node-llama-cpp/package.json', JSON.stringify({ version }))
}

test(
  'files are listed as unavailable, and the reason tells what to install and where',
  inFolder(async (folder) => {
    const runtime_dir = join(folder, 'runtime')
    using provider = createLocalProvider({ models_dir: folder, runtime_dir, shows_path: true })
    const fault = 'The file of the model "local/acme/bad" is no GGUF file, or damaged.'
    const reason = `The optional package node-llama-cpp, which runs local models, is not installed. Install it: ${COMMAND(runtime_dir)}`
    assert.deepEqual(await provider.models(CONTEXT), [])
    assert.equal(findUnavailability(provider, []), reason)
    write(folder, 'acme/a.gguf', tinyModel())
    write(folder, 'acme/bad.gguf', 'nonsense')
    const listed = await provider.models(CONTEXT)
    assert.deepEqual(
      listed.map(({ id, unavailable }) => [id, unavailable]),
      [
        ['local/acme/a', reason],
        ['local/acme/bad', fault],
      ],
    )
    assert.equal(findUnavailability(provider, listed), reason)
    const ask = async (model: string) => {
      const messages = [{ role: 'user' as const, content: 'x' }]
      for await (const _ of provider.complete({ model, messages }, CONTEXT));
    }
    await assert.rejects(ask('acme/a'), { fault: 'unavailable', message: reason })
    await assert.rejects(ask('acme/bad'), { fault: 'unavailable', message: fault })
    await assert.rejects(ask('acme/none'), { fault: 'not_found' })
    install(runtime_dir, '3.22.1')
    const [good, bad] = await provider.models(CONTEXT)
    assert.equal(good?.unavailable, undefined)
    assert.equal(bad?.unavailable, fault)
    assert.equal(findUnavailability(provider, [good!, bad!]), null)
    assert.equal(findUnavailability(provider, [bad!]), fault)
  }),
)

test(
  'after an unsupported version the search goes on',
  inFolder((folder) => {
    const [runtime_dir, good] = [join(folder, 'runtime'), join(folder, 'service')]
    install(runtime_dir, '2.8.16')
    const lack = findRuntimePackage({ runtime_dir, shows_path: true, beside: [good] })
    assert.deepEqual(lack, {
      lack: `The package node-llama-cpp is installed in version 2.8.16, which is not known to work. Install another: ${COMMAND(runtime_dir)}`,
    })
    install(good, '3.22.4')
    assert.deepEqual(findRuntimePackage({ runtime_dir, beside: [good] }), { place: good })
    install(runtime_dir, '3.30.0')
    assert.deepEqual(findRuntimePackage({ runtime_dir, beside: [good] }), { place: runtime_dir })
    write(runtime_dir, 'node_modules/node-llama-cpp/package.json', '{')
    install(good, '4.0.0')
    const odd = findRuntimePackage({ runtime_dir, beside: [good] })
    assert.match(
      'lack' in odd ? odd.lack : '',
      /is installed in version unknown and 4\.0\.0, which is not known to work/,
    )
  }),
)

test(
  'a folder with spaces can be pasted into a shell, and users who sign in do not see the path',
  inFolder(async (folder) => {
    const data_dir = join(folder, "Ada's data")
    const told = async (environment: Record<string, string>) => {
      const settings = { SVC_DATA_DIR: data_dir, ...environment }
      const config = readConfig(settings, { host: '127.0.0.1', port: 0 })
      await using client = new UpstreamClient()
      using providers = createConfiguredProviders({ config, client })
      return providers.get('local')?.lack?.() ?? ''
    }
    assert.ok((await told({})).endsWith(COMMAND(`'${folder}/Ada'\\''s data/runtime'`)), await told({}))
    const elsewhere = await told({ IDP_URL: 'https://id.example.com', IDP_KEY: 'key-of-this-server' })
    assert.ok(elsewhere.endsWith(COMMAND(`"\${SVC_DATA_DIR:-$HOME/.local/share/svc}/runtime"`)), elsewhere)
  }),
)
