// The contract itself: no problem of its own rules, an example for every payload, and each example valid in both drafts.
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { config } from '../../codegen.config.ts'
import { type ErrorCode, errorCatalogue } from '../../generated/errors.ts'
import { forEachMessage, listChannels } from '../../src/codegen/documents/channels.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import { formatProblem } from '../../src/codegen/documents/contract-problems.ts'
import { type Json, listOf, mapOf, readSchemaName, resolveToMap } from '../../src/codegen/documents/json-pointer.ts'
import { forEachMediaType, isJsonMediaType, listOperations } from '../../src/codegen/documents/operations.ts'
import { errorBodies, type Problem, ServiceError } from '../../src/errors.ts'

const { contract, problems } = readContract(resolve(import.meta.dirname, '../..'), config)

/** An ajv that reads draft-07, as AsyncAPI does. */
function draft07(): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: true, strictTypes: true, allowUnionTypes: true })
  formats.default(ajv)
  ajv.addFormat('binary', true)
  for (const [name, schema] of Object.entries(contract.schemas))
    ajv.addSchema(schema as object, `#/components/schemas/${name}`)
  return ajv
}

describe('the contract', () => {
  test('keeps its own rules', () => {
    assert.deepEqual(problems.map(formatProblem), [])
  })

  test('covers operations, commands and frames of every group', () => {
    const operations = listOperations(contract.openapi)
    assert.ok(operations.length >= 100, `${operations.length} operations`)
    assert.deepEqual(
      listOf(contract.openapi.tags).filter((tag) => !operations.some((one) => one.tag === mapOf(tag).name)),
      [],
    )
    const channels = listChannels(contract.asyncapi)
    assert.deepEqual(
      channels.map(({ name }) => name),
      ['ws', 'agent', 'extension', 'download'],
    )
    for (const { name, commands, frames } of channels) {
      assert.ok(commands.length > 0, `${name} has no commands`)
      assert.ok(frames.length > 0, `${name} has no frames`)
    }
  })

  test('has examples for all JSON that goes over the wire', () => {
    const without: string[] = []
    let count = 0
    forEachMediaType(contract.openapi, (media, pointer, type) => {
      if (!isJsonMediaType(type)) return
      const examples = Object.keys(mapOf(media.examples)).length
      count += examples
      if (examples === 0 && media.example === undefined) without.push(pointer)
    })
    forEachMessage(contract.asyncapi, ({ node, pointer }) => {
      count += listOf(node.examples).length
      if (listOf(node.examples).length === 0) without.push(pointer)
    })
    assert.deepEqual(without, [])
    assert.ok(count >= 500, `${count} examples`)
  })

  test('means the same in draft-07: its payloads satisfy their schemas there too', () => {
    const ajv = draft07()
    const invalid: string[] = []
    const check = (schema: Json, value: Json, pointer: string) => {
      const validate = ajv.compile(schema as object)
      if (!validate(value)) invalid.push(`${pointer}: ${ajv.errorsText(validate.errors)}`)
    }
    forEachMediaType(contract.openapi, (media, pointer) => {
      for (const [name, example] of Object.entries(mapOf(media.examples)))
        check(media.schema ?? {}, mapOf(example).value ?? null, `${pointer}/examples/${name}`)
    })
    forEachMessage(contract.asyncapi, ({ node, pointer }) => {
      for (const example of listOf(node.examples)) check(node.payload ?? {}, mapOf(example).payload ?? null, pointer)
    })
    assert.deepEqual(invalid, [])
  })

  test('shows server-sent events as text, whose data is what the operation says', () => {
    const ajv = draft07()
    let count = 0
    forEachMediaType(contract.openapi, (media, pointer, type) => {
      if (type !== 'text/event-stream') return
      assert.equal(readSchemaName(media.schema), 'ServerSentEvents', pointer)
      const validate = ajv.compile(media['x-svc-event-data'] as object)
      for (const { value } of Object.values(mapOf(media.examples)).map(mapOf))
        for (const [, data] of String(value).matchAll(/^data: (.*)$/gm)) {
          count++
          if (data !== '[DONE]')
            assert.ok(validate(JSON.parse(data!)), `${pointer}: ${ajv.errorsText(validate.errors)}`)
        }
    })
    assert.ok(count >= 6, `${count} events`)
  })

  test('shows for every error reply the error of its own status, as the service writes it', () => {
    const wrong: string[] = []
    let count = 0
    for (const { operationId, node } of listOperations(contract.openapi))
      for (const [status, reply] of Object.entries(mapOf(node.responses))) {
        const { schema, examples } = mapOf(mapOf(resolveToMap(contract.openapi, reply).content)['application/json'])
        const door = DOORS[readSchemaName(schema) ?? '']
        if (!door) continue
        for (const { value } of Object.values(mapOf(examples)).map(mapOf)) {
          count++
          if (!isDeepStrictEqual(value, writtenBy(door, Number(status), value)))
            wrong.push(`${operationId} ${status}: ${JSON.stringify(value)}`)
        }
      }
    assert.deepEqual(wrong, [])
    assert.ok(count >= 500, `${count} error replies`)
  })
})

type Door = 'api' | 'sdk' | 'openai'

const DOORS: Readonly<Record<string, Door>> = { ApiError: 'api', SdkError: 'sdk', OpenAiError: 'openai' }

/** The body of the error that an example shows; null where the catalogue has none of its type and status. */
function writtenBy(door: Door, status: number, example: Json | undefined): unknown {
  const { type, message, param, problems } = mapOf(mapOf(example).error)
  const known = Object.keys(errorCatalogue) as ErrorCode[]
  const code = known.find((one) => errorCatalogue[one].type === type && errorCatalogue[one].status === status)
  if (code === undefined) return null
  const of = { message: String(message), param: param as string, problems: listOf(problems) as unknown as Problem[] }
  return errorBodies[door](new ServiceError(code, of))
}
