// The publication: complete, understood without anything beside it, true to the contract, and the same for the same input.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { decode } from '@msgpack/msgpack'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { config } from '../../codegen.config.ts'
import { errorCatalogue } from '../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import type { LifecycleIndex } from '../../generated/types.ts'
import { formatFinding, lintAsyncapi, lintOpenapi } from '../../src/codegen/checks/document-linters.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import {
  followPointer,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readSchemaName,
} from '../../src/codegen/documents/json-pointer.ts'
import { listFolderDifferences } from '../../src/codegen/generated-folder.ts'
import { emitPublication } from '../../src/codegen/publication/publication-files.ts'
import { restoreExactSchemas } from '../../src/contract/exact-schemas.ts'
import { inFolder } from '../helpers/folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FOLDER = join(ROOT, config.generated, config.publication.folder)
const NAMES = readdirSync(FOLDER).sort()
const { contract } = readContract(ROOT, config)
const SCHEMAS = NAMES.filter((name) => /^[A-Z][A-Za-z0-9]*\.json$/.test(name))

const text = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const json = (name: string) => JSON.parse(text(name)) as JsonMap
const sha256 = (content: string) => createHash('sha256').update(content).digest('hex')

/** Visits every map of a tree. */
function eachMap(value: Json, visit: (map: JsonMap) => void): void {
  if (isMap(value)) visit(value)
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) eachMap(member, visit)
}

function references(value: Json): string[] {
  const found: string[] = []
  eachMap(value, ({ $ref }) => {
    if (typeof $ref === 'string') found.push($ref)
  })
  return found
}

describe('the published schemas', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: true, allowUnionTypes: true })
  formats.default(ajv)
  ajv.addFormat('binary', true)
  for (const name of SCHEMAS) ajv.addSchema(json(name))

  test('are those of the profile, and all that they refer to', () => {
    for (const name of [
      'Capabilities',
      'PreflightSummary',
      'SubmitJobRequest',
      'JobSnapshot',
      'JobEvent',
      'ResultManifest',
    ])
      assert.ok(SCHEMAS.includes(`${name}.json`), name)
    for (const name of [
      'SdkError',
      'LifecycleRequest',
      'LifecycleReply',
      'RpcErrorReply',
      'JobEventFrame',
      'WorkflowInterface',
    ])
      assert.ok(SCHEMAS.includes(`${name}.json`), name)
    assert.ok(!SCHEMAS.includes('Thread.json'))
    for (const name of SCHEMAS)
      for (const reference of references(json(name)))
        assert.ok(SCHEMAS.includes(reference), `${name} refers to ${reference}`)
  })

  test('compile, each under its address', () => {
    for (const name of SCHEMAS) {
      const { $id, $schema } = json(name)
      assert.deepEqual(
        [$id, $schema],
        [`/schemas/lifecycle-v1/${name}`, 'https://json-schema.org/draft/2020-12/schema'],
      )
      assert.equal(typeof ajv.getSchema(String($id)), 'function')
    }
  })

  test('fit their examples, and no others', () => {
    const examples = NAMES.filter((name) => name.endsWith('.example.json'))
    assert.ok(examples.length >= 60)
    for (const name of examples) {
      const validate = ajv.getSchema(`/schemas/lifecycle-v1/${name.split('.')[0]}.json`)!
      assert.ok(validate(json(name)), `${name}: ${ajv.errorsText(validate.errors)}`)
    }
    const snapshot = ajv.getSchema('/schemas/lifecycle-v1/JobSnapshot.json')!
    const completed = json('JobSnapshot.completed.example.json')
    assert.ok(
      snapshot(completed) && !snapshot({ ...completed, result: null }) && !snapshot({ ...completed, status: 'done' }),
    )
  })

  test('have their examples in MessagePack too, in one form alone', () => {
    for (const name of NAMES.filter((one) => one.endsWith('.example.json'))) {
      const hex = text(name.replace(/json$/, 'hex'))
      assert.match(hex, /^([0-9a-f]{2})+\n$/, name)
      const value = decode(Buffer.from(hex.trim(), 'hex')) as Json
      assert.deepEqual(value, json(name), name)
      eachMap(value, (map) => assert.deepEqual(Object.keys(map), Object.keys(map).sort(), name))
    }
  })
})

describe('the published documents', () => {
  test('are the whole contract', () => {
    assert.deepEqual(restoreExactSchemas(json('openapi.json')), contract.openapi)
    assert.deepEqual(restoreExactSchemas(json('asyncapi.json')), contract.asyncapi)
    assert.deepEqual(json('errors.json'), JSON.parse(JSON.stringify(errorCatalogue)))
    assert.deepEqual(json('requirements.json'), contract.requirements)
    assert.equal(mapOf(json('openapi.json').info).version, mapOf(json('asyncapi.json').info).version)
  })

  test('are there without what is planned, and whole', () => {
    for (const name of ['openapi.implemented.json', 'asyncapi.implemented.json']) {
      const document = json(name)
      eachMap(document, (map) => assert.notEqual(map['x-svc-implementation'], 'planned', name))
      for (const reference of references(document))
        assert.ok(followPointer(document, reference.slice(1)) !== undefined, reference)
      const reached = new Set(references(document))
      const schemas = Object.keys(mapOf(mapOf(document.components).schemas))
      for (const schema of schemas)
        assert.ok(reached.has(`#/components/schemas/${schema}`), `${name}: nothing reaches ${schema}`)
    }
    const served = operationManifest.filter(({ implementation }) => implementation === 'implemented')
    const methods = Object.values(mapOf(json('openapi.implemented.json').paths)).flatMap((item) =>
      Object.values(mapOf(item)).filter((one) => mapOf(one).operationId !== undefined),
    )
    assert.equal(methods.length, served.length)
  })

  test('keep of an envelope the variants that are implemented, and examples of these', () => {
    const document = restoreExactSchemas(json('asyncapi.implemented.json'))
    const messages = mapOf(mapOf(mapOf(document.channels).ws).messages)
    const payloads = new Set(Object.values(messages).map((message) => readSchemaName(mapOf(message).payload)))
    const reply = mapOf(mapOf(mapOf(document.components).schemas).LifecycleReply)
    assert.ok(listOf(reply.oneOf).length > 0)
    for (const variant of listOf(reply.oneOf)) assert.ok(payloads.has(readSchemaName(variant)), JSON.stringify(variant))
    for (const message of Object.values(messages)) assert.ok(listOf(mapOf(message).examples).length > 0)
  })

  test('keep the rules of others', async () => {
    const findings = [
      ...(await lintOpenapi(json('openapi.implemented.json'))),
      ...(await lintAsyncapi(json('asyncapi.implemented.json'))),
    ]
    assert.deepEqual(findings.filter(({ severity }) => severity !== 'info').map(formatFinding), [])
  })
})

describe('the manifest of operations', () => {
  const manifest = json('operations.json')

  test('has every operation, command and frame with its status', () => {
    const records = listOf(manifest.operations).map(mapOf)
    assert.deepEqual(
      records.map(({ operationId, method, path, status, access, scope }) => [
        operationId,
        method,
        path,
        status,
        access,
        scope,
      ]),
      operationManifest.map((one) => [
        one.operationId,
        one.method.toUpperCase(),
        one.path,
        one.implementation,
        one.access,
        one.scope,
      ]),
    )
    const commands = Object.values(commandManifest).flatMap((channel) => Object.values(channel))
    assert.deepEqual(
      listOf(manifest.commands)
        .map(mapOf)
        .map(({ command, status, preview }) => [command, status, preview]),
      commands.map(({ command, implementation, preview }) => [command, implementation, preview]),
    )
    const frames = Object.values(frameManifest).flatMap((channel) => Object.keys(channel))
    assert.deepEqual(
      listOf(manifest.frames).map((frame) => mapOf(frame).frame),
      frames,
    )
  })

  test('names schemas that there are', () => {
    const schemas = { ...schemasOf('openapi.json'), ...schemasOf('asyncapi.json') }
    eachMap(manifest, ({ schema, request, response }) => {
      for (const name of [schema, request, response]) if (typeof name === 'string') assert.ok(name in schemas, name)
    })
    assert.deepEqual(
      listOf(manifest.events).map((event) => mapOf(event).type),
      ['job_status', 'node_status', 'output_update', 'job_terminal'],
    )
  })

  function schemasOf(name: string): JsonMap {
    return mapOf(mapOf(json(name).components).schemas)
  }
})

test('pages go with it as they are, and their absence is a problem', () => {
  assert.equal(text('LICENSE'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
  assert.equal(text('conformance.md'), readFileSync(join(ROOT, config.spec, 'conformance.md'), 'utf8'))
  const { problems } = readContract(join(ROOT, 'test'), config)
  assert.ok(
    problems.some(({ file, message }) => file === 'LICENSE' && message === 'is missing, but the publication needs it'),
  )
})

describe('the index', () => {
  const index = JSON.parse(text('index.json')) as LifecycleIndex

  test('has every other file with its digest, and one over all', () => {
    assert.deepEqual(
      index.files.map(({ name }) => name),
      NAMES.filter((name) => name !== 'index.json'),
    )
    for (const { name, size, sha256: digest } of index.files)
      assert.deepEqual([Buffer.byteLength(text(name)), sha256(text(name))], [size, digest], name)
    assert.equal(index.digest, sha256(index.files.map((file) => `${file.sha256}  ${file.name}\n`).join('')))
    assert.equal(index.contract_version, mapOf(json('openapi.json').info).version)
  })

  test('has names that no file system confuses', () => {
    assert.equal(new Set(NAMES.map((name) => name.toLowerCase())).size, NAMES.length)
    for (const name of NAMES) assert.match(name, /^[A-Za-z][\w.-]*$/)
  })
})

test(
  'the same sources in another place give the same bytes',
  inFolder(async (folder) => {
    for (const name of [config.spec, 'LICENSE']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    const outputs = await emitPublication(readContract(folder, config).contract, config)
    assert.deepEqual(listFolderDifferences(FOLDER, outputs), [])
    const again = await emitPublication(contract, config)
    assert.deepEqual([...again], [...outputs])
  }),
)
