// Tests preflights with local models, whose runtime or file may be missing.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createLocalProvider } from '../../src/models/providers/local/provider.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer } from '../helpers/server.ts'
import { tinyModel } from '../helpers/tiny-model.ts'
import { chat, preflightOf, requirement, requirementsOf } from './preflight-kit.ts'

const OF = chat({ model: 'local/acme/a', prompt: 'x' })
const INSTALL =
  /^The optional package node-llama-cpp, which runs local models, is not installed\. Install it: npm install /

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

test(
  'a local model without its runtime or its file is unavailable, and the reason is reported',
  inFolder(async (folder) => {
    const runtime_dir = join(folder, 'runtime')
    const models_dir = join(folder, 'models')
    /** Each request goes to a server that has listed nothing yet. */
    const looked = async () => {
      using local = createLocalProvider({ models_dir, runtime_dir, shows_path: true })
      await using server = await startServer({ providers: [local] })
      const summary = await preflightOf(server, OF)
      assert.equal(summary.runnable, false)
      return summary
    }
    const bare = await looked()
    // A runtime is useless to a model without a file, so the missing file is reported first.
    assert.deepEqual(requirementsOf(bare), ['model local/acme/a missing true', 'provider local available true'])
    assert.match(requirement(bare, 'model', 'local/acme/a').message!, /does not list this model/)
    assert.deepEqual(requirement(bare, 'model', 'local/acme/a').details!.node_ids, ['ask'])

    write(join(models_dir, 'acme/a.gguf'), tinyModel())
    const filed = await looked()
    assert.deepEqual(requirementsOf(filed), ['model local/acme/a unavailable true', 'provider local available true'])
    assert.match(requirement(filed, 'model', 'local/acme/a').message!, INSTALL)

    write(join(runtime_dir, 'node_modules/node-llama-cpp/package.json'), JSON.stringify({ version: '3.22.1' }))
    write(join(models_dir, 'acme/b.gguf'), tinyModel())
    writeFileSync(join(models_dir, 'acme/a.gguf'), 'nonsense')
    const damaged = await looked()
    assert.match(requirement(damaged, 'model', 'local/acme/a').message!, /is no GGUF file, or damaged/)
  }),
)
