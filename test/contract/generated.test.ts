// What is generated: as the contract gives it, self-contained, and as strict towards handlers and payloads as it claims.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { config } from '../../codegen.config.ts'
import { errorCatalogue } from '../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../generated/messages.ts'
import { operationManifest, operationsById } from '../../generated/operations.ts'
import { commandValidators, requestValidators, type Validate } from '../../generated/validators.js'
import { frameValidators, responseValidators, schemaValidators } from '../../generated/validators-out.js'
import { listChannels } from '../../src/codegen/documents/channels.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import {
  followPointer,
  isMap,
  type Json,
  listOf,
  mapOf,
  readSchemaName,
  resolveToMap,
} from '../../src/codegen/documents/json-pointer.ts'
import { isJsonMediaType, listOperations } from '../../src/codegen/documents/operations.ts'
import { walkSchema } from '../../src/codegen/documents/schema-walk.ts'
import { generateFiles } from '../../src/codegen/generated-files.ts'
import { listFolderDifferences, writeGeneratedFiles } from '../../src/codegen/generated-folder.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, config.generated)
const { contract } = readContract(root, config)
/** Files of the contract. The list of node types is generated from the source code. */
const contractFiles = readdirSync(folder).filter((name) => name !== 'nodes.ts')

describe('the generated folder', () => {
  test('is what the contract gives', async () => {
    assert.deepEqual(listFolderDifferences(folder, await generateFiles(contract, config)), [])
  })

  test('names the hash of its sources in every file that is not published', () => {
    for (const file of contractFiles.filter((name) => name !== config.publication.folder)) {
      const head = readFileSync(join(folder, file), 'utf8').slice(0, 300)
      assert.ok(head.includes(`(sha256 ${contract.hash})`), file)
    }
  })

  test('imports nothing but itself', () => {
    for (const file of contractFiles.filter((name) => /\.[jt]s$/.test(name))) {
      const text = readFileSync(join(folder, file), 'utf8')
      const paths = [...text.matchAll(/^(?:import|export)\b[^\n]*?\bfrom\s*['"]([^'"]+)['"]/gm)].map(
        (match) => match[1]!,
      )
      assert.deepEqual(
        paths.filter((path) => !/^\.\/[a-z-]+\.[jt]s$/.test(path)),
        [],
        file,
      )
    }
  })

  test('is checked file by file: changed, missing and extra ones are named', () => {
    const place = mkdtempSync(join(tmpdir(), 'svc-generated-'))
    try {
      const outputs = new Map([
        ['a.ts', 'a'],
        ['b/c.ts', 'c'],
      ])
      writeGeneratedFiles(place, outputs)
      assert.deepEqual(listFolderDifferences(place, outputs), [])
      writeFileSync(join(place, 'a.ts'), 'other')
      rmSync(join(place, 'b/c.ts'))
      writeFileSync(join(place, 'd.ts'), '')
      assert.deepEqual(listFolderDifferences(place, outputs), [
        'a.ts differs from what the contract generates',
        'b/c.ts is missing',
        'd.ts should not exist',
      ])
      writeGeneratedFiles(place, outputs)
      assert.deepEqual(listFolderDifferences(place, outputs), [])
    } finally {
      rmSync(place, { recursive: true })
    }
  })
})

describe('manifests', () => {
  test('hold every operation of the document once', () => {
    const written = listOperations(contract.openapi).map(({ operationId, method, path }) => [operationId, method, path])
    assert.deepEqual(
      operationManifest.map(({ operationId, method, path }) => [operationId, method, path]),
      written,
    )
    assert.equal(Object.keys(operationsById).length, written.length)
    assert.equal(operationsById.runWorkflow.path, '/api/workflows/{id}/run')
    assert.equal(operationsById.runWorkflow.validation, 'precompiled')
    assert.equal(operationsById.getObject.wildcard, 'key')
    assert.equal(operationsById.listWorkflows.trailing_slash, true)
    assert.equal(operationsById.getReady.refuses_input, false)
    assert.equal(operationsById.submitJob.errors, 'sdk')
  })

  test('hold every command and frame of the document', () => {
    for (const { name, commands, frames } of listChannels(contract.asyncapi)) {
      const channel = name as keyof typeof commandManifest
      assert.deepEqual(
        Object.values(commandManifest[channel]).map(({ command }) => command),
        commands.map(({ key }) => key),
      )
      assert.deepEqual(
        Object.keys(frameManifest[channel]),
        frames.map(({ key }) => key),
      )
    }
    assert.equal(commandManifest.ws.run_job.kind, 'job')
    assert.equal(commandManifest.ws.submit_job.preview, true)
    assert.equal(commandManifest.ws.get_workflow.request_id, 'required')
  })

  test('hold every error', () => {
    assert.deepEqual(errorCatalogue, contract.errors)
  })
})

describe('validators of what comes in', () => {
  test('there is one for each hot operation, each that takes JSON, and each command', () => {
    const whole = operationManifest.filter(({ validation, body }) => validation === 'precompiled' || body === 'json')
    assert.deepEqual(Object.keys(requestValidators).sort(), whole.map(({ operationId }) => operationId).sort())
    for (const channel of Object.keys(commandManifest) as (keyof typeof commandManifest)[])
      assert.deepEqual(Object.keys(commandValidators[channel]), Object.keys(commandManifest[channel]))
  })

  test('no body in JSON has a default: a thread judges large ones, and what it fills in stays there', () => {
    for (const { operationId, body, request } of listOperations(contract.openapi)) {
      const schemas = body === 'json' ? (request?.content ?? []).map((one) => one.schema) : []
      assert.deepEqual(
        schemas.flatMap((schema) => defaultsIn(schema)),
        [],
        operationId,
      )
    }
  })

  test('every example of a hot body and of a command is taken', () => {
    let count = 0
    for (const { operationId, request, parameters, validation } of listOperations(contract.openapi)) {
      const validate = (requestValidators as Readonly<Record<string, Validate>>)[operationId]
      if (!validate || !request || validation !== 'precompiled') continue
      const path = Object.fromEntries(parameters.filter((one) => one.in === 'path').map(({ name }) => [name, 'x']))
      const node = listOperations(contract.openapi).find((one) => one.operationId === operationId)!.node
      for (const example of examplesOf(followPointer(node, '/requestBody/content/application~1json'))) {
        count++
        accepts(validate, { path, query: {}, headers: {}, body: example })
      }
    }
    for (const { name, commands } of listChannels(contract.asyncapi)) {
      for (const { key, node } of commands) {
        const validate = validatorOf(commandValidators, name, key)
        for (const example of listOf(node.examples)) {
          count++
          accepts(validate, mapOf(example).payload)
          refuses(validate, { ...mapOf(mapOf(example).payload), surprise: 1 }, '')
          refuses(validate, { ...mapOf(mapOf(example).payload), command: 'another' }, '/command')
        }
      }
    }
    assert.ok(count > 40, `${count} examples`)
  })

  test('parameters become what their schemas ask for, and defaults are filled in', () => {
    const request = {
      path: { id: '7' },
      query: { after_sequence: '3' } as Record<string, unknown>,
      headers: { 'last-event-id': '4' } as Record<string, unknown>,
      body: undefined,
    }
    accepts(requestValidators.followJobEvents, request)
    assert.deepEqual(request.query, { after_sequence: 3 })
    assert.deepEqual(request.headers, { 'last-event-id': 4 })
    assert.deepEqual(request.path, { id: '7' })
    const silent = { path: { id: '7' }, query: {} as Record<string, unknown>, headers: { host: 'x' }, body: undefined }
    accepts(requestValidators.followJobEvents, silent)
    assert.deepEqual(silent.query, { after_sequence: 0 })
  })

  test('everything that is wrong is said at once, each with its place', () => {
    const validate = requestValidators.runWorkflow
    assert.equal(validate({ path: { id: '' }, query: { x: '1' }, headers: {}, body: { params: 3, other: 1 } }), false)
    assert.deepEqual(validate.errors!.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`).sort(), [
      '/body additionalProperties',
      '/body/params type',
      '/path/id minLength',
      '/query additionalProperties',
    ])
    refuses(validate, { path: { id: 'a' }, query: {}, headers: {} }, '')
    refuses(validate, { path: { id: 'a' }, query: {}, headers: {}, body: [] }, '/body')
    accepts(validate, { path: { id: 'a' }, query: {}, headers: {}, body: {} })
    assert.equal(validate.errors, null)
  })

  test('repeated, empty and malformed query parameters are refused', () => {
    const validate = requestValidators.getObject
    const request = (query: Record<string, unknown>) => ({
      path: { key: '1/a.txt' },
      query,
      headers: {},
      body: undefined,
    })
    accepts(validate, request({ expires: '1700000000', signature: 'abcdefghijklmnop' }))
    refuses(validate, request({ expires: ['1', '2'] }), '/query/expires')
    refuses(validate, request({ expires: '' }), '/query/expires')
    refuses(validate, request({ expires: '1.5' }), '/query/expires')
    refuses(validate, request({ signature: '' }), '/query/signature')
  })
})

describe('validators of what goes out', () => {
  test('every example of a reply and of a frame is taken, and an empty object is not', () => {
    for (const { operationId, replies, node } of listOperations(contract.openapi)) {
      for (const { status, content } of replies) {
        const validate = responseValidators[operationId as keyof typeof responseValidators][status]
        assert.notEqual(validate, undefined, `${operationId} ${status}`)
        const json = content.find(({ media_type }) => isJsonMediaType(media_type))
        assert.equal(validate === null, json === undefined, `${operationId} ${status}`)
        if (!validate || !json) continue
        const reply = resolveToMap(contract.openapi, mapOf(node.responses)[status])
        const examples = examplesOf(mapOf(reply.content)[json.media_type])
        assert.ok(examples.length > 0, `${operationId} ${status}`)
        for (const example of examples) accepts(validate, example)
        assert.equal(validate(7), false, `${operationId} ${status}`)
      }
    }
    for (const { name, frames } of listChannels(contract.asyncapi)) {
      for (const { key, node } of frames) {
        const validate = validatorOf(frameValidators, name, key)
        for (const example of listOf(node.examples)) accepts(validate, mapOf(example).payload)
        assert.equal(validate({}), false, `${name} ${key}`)
      }
    }
  })

  test('there is one for each schema, and an undeclared status has none', () => {
    assert.deepEqual(Object.keys(schemaValidators), Object.keys(contract.schemas))
    assert.equal(responseValidators.getReady[418], undefined)
    assert.equal(responseValidators.deleteWorkflow[204], null)
    assert.equal(schemaValidators.Sha256(createHash('sha256').update('').digest('hex')), true)
    assert.equal(schemaValidators.Sha256('00'), false)
  })
})

function examplesOf(media: Json | undefined): Json[] {
  return Object.values(mapOf(mapOf(media).examples)).map((example) => mapOf(example).value ?? null)
}

function validatorOf(table: object, channel: string, key: string): Validate {
  return (table as Record<string, Record<string, Validate>>)[channel]![key]!
}

function accepts(validate: Validate, value: unknown): void {
  assert.equal(validate(value), true, `${JSON.stringify(validate.errors)} for ${JSON.stringify(value)}`)
}

function refuses(validate: Validate, value: unknown, at: string): void {
  assert.equal(validate(value), false, JSON.stringify(value))
  const places = validate.errors!.map(({ instancePath }) => instancePath)
  assert.ok(places.includes(at), `${at} is not among ${places.join(', ')}`)
}

/** The parts of a schema that have a default, references followed. */
function defaultsIn(schema: Json, seen = new Set<string>()): Json[] {
  const found: Json[] = []
  walkSchema(schema, '', (part) => {
    if (!isMap(part)) return
    if ('default' in part) found.push(part)
    const name = readSchemaName(part)
    if (name === null || seen.has(name)) return
    seen.add(name)
    found.push(...defaultsIn(contract.schemas[name]!, seen))
  })
  return found
}
