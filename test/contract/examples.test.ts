// The contract itself: no problem of its own rules, an example for every payload, and each example valid in both drafts.
import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { config } from '../../codegen.config.ts'
import { channelsOf, eachMessage } from '../../src/codegen/channels.ts'
import { readContract } from '../../src/codegen/contract.ts'
import { eachMediaType, isJson, operationsOf } from '../../src/codegen/operations.ts'
import { problemText } from '../../src/codegen/problems.ts'
import { type Json, listOf, mapOf } from '../../src/codegen/tree.ts'

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
    assert.deepEqual(problems.map(problemText), [])
  })

  test('covers operations, commands and frames of every group', () => {
    const operations = operationsOf(contract.openapi)
    assert.ok(operations.length >= 100, `${operations.length} operations`)
    assert.deepEqual(
      listOf(contract.openapi.tags).filter((tag) => !operations.some((one) => one.tag === mapOf(tag).name)),
      [],
    )
    const channels = channelsOf(contract.asyncapi)
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
    eachMediaType(contract.openapi, (media, pointer, type) => {
      if (!isJson(type)) return
      const examples = Object.keys(mapOf(media.examples)).length
      count += examples
      if (examples === 0 && media.example === undefined) without.push(pointer)
    })
    eachMessage(contract.asyncapi, ({ node, pointer }) => {
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
    eachMediaType(contract.openapi, (media, pointer) => {
      for (const [name, example] of Object.entries(mapOf(media.examples)))
        check(media.schema ?? {}, mapOf(example).value ?? null, `${pointer}/examples/${name}`)
    })
    eachMessage(contract.asyncapi, ({ node, pointer }) => {
      for (const example of listOf(node.examples)) check(node.payload ?? {}, mapOf(example).payload ?? null, pointer)
    })
    assert.deepEqual(invalid, [])
  })
})
