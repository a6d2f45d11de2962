// Local models without the runtime: the content of the folder, the headers of files, and the supported schemas.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import type { ProviderError } from '../../../../src/models/provider-error.ts'
import { NotGgufError, readGgufHeader } from '../../../../src/models/providers/local/gguf-header.ts'
import { LocalModelFiles } from '../../../../src/models/providers/local/model-files.ts'
import { createLocalProvider, type LocalProvider } from '../../../../src/models/providers/local/provider.ts'
import { createLocalSchema } from '../../../../src/models/providers/local/response-schema.ts'
import { inFolder } from '../../../helpers/folder.ts'
import { header, list, TYPE, text, uint32, uint64, value } from '../../../helpers/gguf.ts'
import { takesLess } from '../../../helpers/patience.ts'
import { until } from '../../../helpers/server.ts'
import { tinyModel } from '../../../helpers/tiny-model.ts'

function write(folder: string, path: string, bytes: Uint8Array = tinyModel()): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), bytes)
}

test(
  'the header of a file tells its facts, and a damaged header tells nothing',
  inFolder(async (folder) => {
    const read = (bytes: Uint8Array) => {
      write(folder, 'x.gguf', bytes)
      return readGgufHeader(join(folder, 'x.gguf'))
    }
    assert.deepEqual(await read(tinyModel()), { architecture: 'llama', context_length: 2048, embedding: false })
    assert.equal((await read(tinyModel({ pooling: 2 }))).embedding, true)
    assert.equal((await read(tinyModel({ architecture: 'nomic-bert' }))).embedding, true)
    // The vocabulary begins at about 650 bytes, and everything before it is needed.
    for (let length = 4; length < 480; length += 7) {
      const { architecture, context_length } = await read(tinyModel().subarray(0, length))
      assert.ok(architecture === null || architecture === 'llama', `${length}`)
      assert.ok(context_length === null || context_length === 2048, `${length}`)
    }
    assert.equal((await read(tinyModel().subarray(0, 60))).architecture, null)
    const huge = tinyModel()
    huge.writeBigUInt64LE(2n ** 60n, 24)
    assert.equal((await read(huge)).architecture, null)
    for (const other of ['', 'GGU', 'FUGG', 'nonsense'])
      await assert.rejects(read(Buffer.from(other)), NotGgufError, other)
  }),
)

test(
  'the needed values are also found after the vocabulary and nested lists',
  inFolder(async (folder) => {
    const path = join(folder, 'x.gguf')
    const usual = [value('general.architecture', 8, text('llama')), value('llama.context_length', 4, uint32(4_096))]
    const words = list(8, Array(300_000).fill(text('word')))
    const nested = Buffer.concat([uint32(9), uint64(2), list(4, [uint32(1)]), list(8, [text('a'), text('b')])])
    const long = list(5, Array(200_000).fill(uint32(7)))
    for (const [before, values] of Object.entries({
      vocabulary: [value('tokenizer.ggml.tokens', TYPE.array, words), ...usual],
      between: [usual[0]!, value('tokenizer.ggml.scores', 9, long), usual[1]!],
      nested: [value('general.x', 9, nested), ...usual],
    })) {
      writeFileSync(path, header(0, values))
      assert.deepEqual(
        await readGgufHeader(path),
        { architecture: 'llama', context_length: 4_096, embedding: false },
        before,
      )
    }
  }),
)

test(
  'the folder lists only complete models, and none from outside of it',
  inFolder(async (folder) => {
    const models = join(folder, 'models')
    for (const path of ['a/b/one.gguf', 'two.GGUF', 'a/.hidden.gguf', '.incomplete/x.gguf', 'a/notes.txt'])
      write(models, path)
    write(models, 'a/eye.gguf', tinyModel({ architecture: 'clip' }))
    for (const part of ['00001', '00002']) write(models, `split-${part}-of-00002.gguf`)
    write(models, 'torn-00001-of-00002.gguf')
    write(folder, 'outside.gguf')
    symlinkSync(join(folder, 'outside.gguf'), join(models, 'link.gguf'))
    symlinkSync(join(models, 'two.GGUF'), join(models, 'inside.gguf'))
    symlinkSync(join(folder, 'nowhere'), join(models, 'dead.gguf'))
    const files = await new LocalModelFiles(models).list()
    assert.deepEqual(
      files.map(({ name }) => name),
      ['a/b/one', 'inside', 'split', 'two'],
    )
    assert.equal(files[2]?.size, 2 * tinyModel().length)
    assert.deepEqual(await new LocalModelFiles(join(folder, 'none')).list(), [])
  }),
)

test(
  'split models that claim many parts take a short time, and of several files with one name always the same counts',
  inFolder(async (folder) => {
    for (let at = 0; at < 300; at++) write(folder, `m${at}-00001-of-99999.gguf`, Buffer.from('x'))
    await takesLess(3_000, async () => assert.deepEqual(await new LocalModelFiles(folder).list(), []))
    for (const name of ['twin-00001-of-00001.gguf', 'twin.GGUF', 'twin.gguf', 'pair-00001-of-00002.gguf'])
      write(folder, name)
    for (const name of ['pair-00002-of-00002.gguf', 'pair-00001-of-00001.GGUF']) write(folder, name)
    const twins = await new LocalModelFiles(folder).list()
    assert.deepEqual(
      twins.map(({ name, path, size }) => [name, relative(folder, path), size / tinyModel().length]),
      [
        ['pair', 'pair-00001-of-00002.gguf', 2],
        ['twin', 'twin.gguf', 1],
      ],
    )
  }),
)

test(
  'one model is found in its present state without another scan of the folder',
  inFolder(async (folder) => {
    write(folder, 'a.gguf')
    const files = new LocalModelFiles(folder)
    const first = await files.find('a')
    assert.equal(first?.name, 'a')
    assert.equal(await files.find('a'), first)
    write(folder, 'b.gguf', Buffer.from('nonsense'))
    assert.equal((await files.find('b'))?.fault, 'is no GGUF file, or damaged')
    files.markFaulty(first!, 'is bad')
    assert.equal((await files.find('a'))?.fault, 'is bad')
    const later = new Date(Date.now() + 5_000)
    utimesSync(join(folder, 'a.gguf'), later, later)
    assert.equal((await files.find('a'))?.fault, null)
    rmSync(join(folder, 'a.gguf'))
    assert.equal(await files.find('a'), null)
  }),
)

test(
  'the process of a model gets only the configured environment, and a file that it cannot use is remembered',
  { timeout: 30_000 },
  inFolder(async (folder) => {
    using provider = withUselessRuntime(folder)
    const context = { credential: null, signal: new AbortController().signal }
    process.env.SVC_SECRET_OF_THE_SERVER = 'hidden'
    const messages = [{ role: 'user' as const, content: 'x' }]
    const asked = (async () => {
      for await (const _ of provider.complete({ model: 'a', messages }, context));
    })()
    await assert.rejects(asked, { fault: 'unavailable', message: /"local\/a" cannot be used: it is damaged/ })
    const seen = JSON.parse(readFileSync(join(folder, 'seen'), 'utf8')) as Record<string, string>
    assert.deepEqual([seen.TMPDIR, seen.SVC_SECRET_OF_THE_SERVER, seen.HOME], [folder, undefined, undefined])
    assert.match((await provider.models(context))[0]?.unavailable ?? '', /"local\/a" cannot be used/)
    write(folder, 'models/a.gguf', tinyModel({ seed: 2, context_length: 1024 }))
    const later = new Date(Date.now() + 5_000)
    utimesSync(join(folder, 'models/a.gguf'), later, later)
    assert.equal((await provider.models(context))[0]?.unavailable, undefined)
  }),
)

test(
  'owners of calls to one model take turns, and only the owner with too many calls is refused',
  { timeout: 60_000 },
  inFolder(async (folder) => {
    using provider = withUselessRuntime(folder)
    const hold = join(folder, HOLD)
    writeFileSync(hold, '')
    const ended: string[] = []
    const stop = new AbortController()
    const ask = async (owner: string) => {
      const messages = [{ role: 'user' as const, content: 'x' }]
      try {
        for await (const _ of provider.complete(
          { model: 'a', messages },
          { credential: null, owner, signal: stop.signal },
        ));
      } catch (error) {
        ended.push(`${owner} ${(error as ProviderError).fault ?? 'aborted'}`)
      }
    }
    const asked = ['much', 'more'].flatMap((owner) => Array.from({ length: 101 }, () => ask(owner)))
    // The file is checked first, in any order: all calls have arrived when one of each owner is refused.
    await until('a refusal of each owner', () => ended.length >= 2)
    assert.deepEqual(ended.sort(), ['more rate_limited', 'much rate_limited'])
    rmSync(hold)
    await until('four more ends', () => ended.length >= 6)
    stop.abort()
    const turns = ended.slice(2, 6)
    assert.deepEqual(turns.sort(), ['more unavailable', 'more unavailable', 'much unavailable', 'much unavailable'])
    await Promise.all(asked)
    assert.equal(ended.length, 202)
  }),
)

/** A folder with one model, with a runtime that can use no file. */
function withUselessRuntime(folder: string): LocalProvider {
  const runtime_dir = join(folder, 'runtime')
  write(runtime_dir, 'node_modules/node-llama-cpp/package.json', Buffer.from(PACKAGE))
  write(runtime_dir, 'node_modules/node-llama-cpp/index.js', Buffer.from(TELLS_ITS_ENVIRONMENT))
  write(folder, 'models/a.gguf')
  return createLocalProvider({ models_dir: join(folder, 'models'), runtime_dir, environment: { TMPDIR: folder } })
}

/** While this file exists the runtime does not answer. */
const HOLD = 'hold'
const PACKAGE = '{"version": "3.22.1", "type": "module", "main": "index.js"}'
const TELLS_ITS_ENVIRONMENT = `
import { existsSync, writeFileSync } from 'node:fs'
export class InsufficientMemoryError extends Error {}
export async function getLlama() {
  writeFileSync(process.env.TMPDIR + '/seen', JSON.stringify(process.env))
  while (existsSync(process.env.TMPDIR + '/${HOLD}')) await new Promise((resolve) => setTimeout(resolve, 5))
  throw new Error('a file of nothing')
}
`

const schemaOf = (schema: Record<string, unknown>) =>
  createLocalSchema({ type: 'json_schema', json_schema: { name: 'x', schema } })

test('schemas are converted for the runtime', () => {
  assert.equal(createLocalSchema(null), null)
  assert.equal(createLocalSchema({ type: 'json_object' }), 'any')
  assert.deepEqual(schemaOf({ type: ['string', 'null'], maxLength: 3, title: 'x' }), {
    oneOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }],
  })
  assert.deepEqual(
    schemaOf({ type: 'object', properties: { a: { $ref: '#/$defs/n' } }, required: ['a'], $defs: { n: { const: 1 } } }),
    { type: 'object', properties: { a: { $ref: '#/$defs/n' } }, $defs: { n: { enum: [1] } } },
  )
})

test('schemas with many parts are refused, or take a short time', async () => {
  const named = (count: number, one: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, one]))
  const any = { type: 'null' }
  const known = { type: 'object', properties: named(3_000, any), $defs: named(3_000, any) }
  await takesLess(1_000, () => assert.deepEqual(schemaOf(known), known))
  const words = Array.from({ length: 500_000 }, () => 'a')
  for (const [schema, message] of [
    [{ ...any, $defs: named(100_000, any) }, /more than 10,000 parts/],
    [{ type: ['object', 'null'], properties: named(5_000, any), required: Object.keys(named(5_000, any)) }, /10,000/],
    [{ anyOf: words.map(() => any) }, /10,000/],
    [{ enum: words }, /10,000/],
    [{ enum: ['a'], type: [...words, 'string'] }, /this part of the schema/],
    [Array.from({ length: 30 }).reduce((of: object) => ({ type: ['array', 'array'], items: of }), any), /10,000/],
  ] as const)
    await takesLess(1_000, () =>
      assert.throws(() => schemaOf(schema as Record<string, unknown>), { fault: 'unsupported', message }),
    )
})

test('keywords that the runtime would ignore are refused, with their position', () => {
  const at = 'response_format.json_schema.schema'
  for (const [schema, place] of [
    [{ type: 'string', pattern: 'x' }, '.pattern'],
    [{ type: 'object', properties: { a: { type: 'number', minimum: 1 } } }, '.properties.a.minimum'],
    [{ type: 'object', required: ['a'] }, '.required'],
    [{}, '.type'],
    [{ enum: [{}] }, ''],
    [{ $ref: '#/$defs/none' }, '.$ref'],
    [{ anyOf: [{ type: 'null' }], type: 'string' }, '.type'],
    [{ type: 'string', maxLength: 'x' }, '.maxLength'],
    [{ type: 'string', minLength: -1 }, '.minLength'],
    [{ type: 'string', minLength: 5, maxLength: 2 }, '.maxLength'],
    [{ type: 'array', items: { type: 'null' }, maxItems: 1.5 }, '.maxItems'],
    [{ type: 'array', items: { type: 'null' }, minItems: 3, maxItems: 1 }, '.maxItems'],
    [{ type: ['null', 'array'], items: { type: 'null' }, minItems: 1e9 }, '.minItems'],
    [{ type: 'object', properties: { a: { type: 'array', items: false } } }, '.properties.a.items'],
    [{ type: 'object', properties: 0 }, '.properties'],
    [{ type: 'object', additionalProperties: 'x' }, '.additionalProperties'],
    [{ type: 'string', enum: ['a', 1] }, '.type'],
    [{ type: ['string', 'integer'], const: 1.5 }, '.type'],
  ] as const)
    assert.throws(() => schemaOf(schema), { fault: 'unsupported', param: `${at}${place}` }, JSON.stringify(schema))
})
