// Adds the examples of `spec/examples` where a schema is used whole, and validates every example against its schema.
import type { CodegenConfig } from '../../../codegen.config.ts'
import { createContractAjv } from './ajv-setup.ts'
import { forEachMessage } from './channels.ts'
import type { ContractProblem } from './contract-problems.ts'
import type { ContractSource } from './contract-source.ts'
import {
  appendToPointer,
  createSchemaReference,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readSchemaName,
} from './json-pointer.ts'
import { forEachMediaType } from './operations.ts'
import { walkSchema } from './schema-walk.ts'

/** Both documents and their shared schemas. */
export interface BundledDocuments {
  openapi: JsonMap
  asyncapi: JsonMap
  schemas: JsonMap
}

/** Adds the examples of a schema to each media type and message that refers to it and has none. */
export function attachExamples({ openapi, asyncapi }: BundledDocuments, source: ContractSource): void {
  const instancesOf = (schema: Json | undefined) => [...(source.examples.get(readSchemaName(schema) ?? '') ?? [])]
  forEachMediaType(openapi, (media) => {
    const instances = instancesOf(media.schema)
    if (instances.length === 0 || media.example !== undefined || media.examples !== undefined) return
    media.examples = Object.fromEntries(instances.map(([name, value]) => [name, { value: structuredClone(value) }]))
  })
  forEachMessage(asyncapi, ({ node }) => {
    const instances = instancesOf(node.payload)
    if (instances.length === 0 || node.examples !== undefined) return
    node.examples = instances.map(([name, payload]) => ({ name, payload: structuredClone(payload) }))
  })
}

/** Reports payloads without an example, and example folders without a schema. */
export function checkExamplesPresent(
  { openapi, asyncapi }: BundledDocuments,
  source: ContractSource,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const free = new Set<string>(config.media_without_examples)
  const message = 'has no example'
  forEachMediaType(openapi, (media, pointer, type) => {
    if (free.has(type) || media.example !== undefined || Object.keys(mapOf(media.examples)).length > 0) return
    problems.push({ file: config.documents.openapi.output, pointer, message })
  })
  forEachMessage(asyncapi, ({ node, pointer }) => {
    if (listOf(node.examples).length === 0) problems.push({ file: config.documents.asyncapi.output, pointer, message })
  })
  for (const name of source.examples.keys()) {
    if (!source.schemas.has(name))
      problems.push({ file: `examples/${name}`, pointer: '', message: 'is not the name of a schema' })
  }
}

/** Validates all instances, all examples of both documents, and the defaults and examples inside schemas. */
export function checkExamplesValid(
  documents: BundledDocuments,
  source: ContractSource,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const check = createExampleChecker(documents.schemas, problems)
  for (const [name, instances] of source.examples) {
    if (!source.schemas.has(name)) continue
    for (const [file, value] of instances)
      check(createSchemaReference(name), value, `examples/${name}/${file}.json`, '')
  }
  checkMediaExamples(documents.openapi, config.documents.openapi.output, check)
  forEachMessage(documents.asyncapi, ({ node, pointer }) => {
    listOf(node.examples).forEach((example, index) => {
      const at = appendToPointer(appendToPointer(pointer, 'examples'), index)
      check(node.payload ?? {}, mapOf(example).payload ?? null, config.documents.asyncapi.output, at)
    })
  })
  checkSchemaValues(documents.schemas, source, check)
}

type ExampleChecker = (schema: Json, value: Json, file: string, pointer: string) => void

function createExampleChecker(schemas: JsonMap, problems: ContractProblem[]): ExampleChecker {
  const ajv = createContractAjv(schemas)
  return (schema, value, file, pointer) => {
    const validate = ajv.compile(schema as object)
    if (validate(value)) return
    for (const { instancePath, message, params } of validate.errors ?? []) {
      const detail = Object.values(params).join(', ')
      problems.push({ file, pointer: pointer + instancePath, message: `${message} (${detail})` })
    }
  }
}

function checkMediaExamples(openapi: JsonMap, file: string, check: ExampleChecker): void {
  forEachMediaType(openapi, (media, pointer) => {
    const { schema = {}, example, examples } = media
    if (example !== undefined) check(schema, example, file, appendToPointer(pointer, 'example'))
    for (const [name, named] of Object.entries(mapOf(examples)))
      check(schema, mapOf(named).value ?? null, file, appendToPointer(appendToPointer(pointer, 'examples'), name))
  })
}

function checkSchemaValues(schemas: JsonMap, source: ContractSource, check: ExampleChecker): void {
  for (const [name, schema] of Object.entries(schemas)) {
    walkSchema(schema, appendToPointer('', name), (part, pointer) => {
      if (!isMap(part)) return
      const file = source.schemas.get(name)?.file ?? ''
      if (part.default !== undefined) check(part, part.default, file, appendToPointer(pointer, 'default'))
      listOf(part.examples).forEach((value, index) => {
        check(part, value, file, appendToPointer(appendToPointer(pointer, 'examples'), index))
      })
    })
  }
}
