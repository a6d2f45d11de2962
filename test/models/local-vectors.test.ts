// Vectors of local models, with a fake runtime package: many vectors do not block the event loop.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLocalProvider } from '../../src/models/providers/local/provider.ts'
import { inFolder } from '../helpers/folder.ts'
import { longestTurn } from '../helpers/loop.ts'
import { belowInSome } from '../helpers/patience.ts'
import { tinyModel } from '../helpers/tiny-model.ts'

/** The vector of a text: its number of letters, and numbers with as many digits as a model's. */
const PACKAGE = `
const numbers = Array.from({ length: 4095 }, (_, at) => Math.fround(Math.sin(at)))
const model = {
  trainContextSize: 512,
  tokenize: (text) => [...text],
  createEmbeddingContext: async () => ({ getEmbeddingFor: async ({ length }) => ({ vector: [length, ...numbers] }) }),
}
export class InsufficientMemoryError extends Error {}
export const getLlama = async () => ({ cpuMathCores: 1, loadModel: async () => model })
`
const TEXTS = 512
/** In milliseconds of CPU time. */
const LONGEST_HOLD = 40

test(
  'many vectors of a local model do not block the event loop, and each belongs to its text',
  inFolder(async (folder) => {
    const place = join(folder, 'node_modules/node-llama-cpp')
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'package.json'), '{"version": "3.22.1", "type": "module", "main": "index.js"}')
    writeFileSync(join(place, 'index.js'), PACKAGE)
    writeFileSync(join(folder, 'm.gguf'), tinyModel({ pooling: 2 }))
    using provider = createLocalProvider({ models_dir: folder, runtime_dir: folder, beside: [] })
    const input = Array.from({ length: TEXTS }, (_, at) => 'x'.repeat(1 + (at % 300)))
    const { signal } = new AbortController()
    const ask = async () => {
      const { vectors, input_tokens } = await provider.embed!({ model: 'm', input }, { credential: null, signal })
      assert.deepEqual(
        vectors.map(([first]) => first),
        input.map(({ length }) => length),
      )
      assert.equal(input_tokens, input.join('').length)
    }
    await ask()
    await belowInSome(LONGEST_HOLD, () => longestTurn(ask))
  }),
)
