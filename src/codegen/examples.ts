// Examples: those of `spec/examples` are added where a schema is used whole, and every example is validated against its schema.
import type { CodegenConfig } from '../../codegen.config.ts'
import { contractAjv } from './ajv.ts'
import { eachMessage } from './channels.ts'
import { eachMediaType } from './operations.ts'
import type { ContractProblem } from './problems.ts'
import { walkSchema } from './schema-walk.ts'
import type { Source } from './source.ts'
import { child, isMap, type Json, type JsonMap, listOf, mapOf, schemaName, schemaReference } from './tree.ts'

/** Both documents and the schemas that they share. */
export interface Documents {
  openapi: JsonMap
  asyncapi: JsonMap
  schemas: JsonMap
}

/** Adds the instances of a schema to each media type and message that has no examples and refers to the schema. */
export function attachExamples({ openapi, asyncapi }: Documents, source: Source): void {
  const instancesOf = (schema: Json | undefined) => [...(source.examples.get(schemaName(schema) ?? '') ?? [])]
  eachMediaType(openapi, (media) => {
    const instances = instancesOf(media.schema)
    if (instances.length === 0 || media.example !== undefined || media.examples !== undefined) return
    media.examples = Object.fromEntries(instances.map(([name, value]) => [name, { value: structuredClone(value) }]))
  })
  eachMessage(asyncapi, ({ node }) => {
    const instances = instancesOf(node.payload)
    if (instances.length === 0 || node.examples !== undefined) return
    node.examples = instances.map(([name, payload]) => ({ name, payload: structuredClone(payload) }))
  })
}

/** A payload without an example is a problem, and so is an example folder that no schema has. */
export function checkExamplesPresent(
  { openapi, asyncapi }: Documents,
  source: Source,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const free = new Set<string>(config.media_without_examples)
  const message = 'has no example'
  eachMediaType(openapi, (media, pointer, type) => {
    if (free.has(type) || media.example !== undefined || Object.keys(mapOf(media.examples)).length > 0) return
    problems.push({ file: config.documents.openapi.output, pointer, message })
  })
  eachMessage(asyncapi, ({ node, pointer }) => {
    if (listOf(node.examples).length === 0) problems.push({ file: config.documents.asyncapi.output, pointer, message })
  })
  for (const name of source.examples.keys()) {
    if (!source.schemas.has(name)) problems.push({ file: `examples/${name}`, pointer: '', message: 'names no schema' })
  }
}

/** Validates every instance, every example of both documents, and the defaults and examples inside schemas. */
export function checkExamplesValid(
  documents: Documents,
  source: Source,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const check = checker(documents.schemas, problems)
  for (const [name, instances] of source.examples) {
    if (!source.schemas.has(name)) continue
    for (const [file, value] of instances) check(schemaReference(name), value, `examples/${name}/${file}.json`, '')
  }
  checkMedia(documents.openapi, config.documents.openapi.output, check)
  eachMessage(documents.asyncapi, ({ node, pointer }) => {
    listOf(node.examples).forEach((example, index) => {
      const at = child(child(pointer, 'examples'), index)
      check(node.payload ?? {}, mapOf(example).payload ?? null, config.documents.asyncapi.output, at)
    })
  })
  checkSchemaValues(documents.schemas, source, check)
}

type Check = (schema: Json, value: Json, file: string, pointer: string) => void

function checker(schemas: JsonMap, problems: ContractProblem[]): Check {
  const ajv = contractAjv(schemas)
  return (schema, value, file, pointer) => {
    const validate = ajv.compile(schema as object)
    if (validate(value)) return
    for (const { instancePath, message, params } of validate.errors ?? []) {
      const detail = Object.values(params).join(', ')
      problems.push({ file, pointer: pointer + instancePath, message: `${message} (${detail})` })
    }
  }
}

function checkMedia(openapi: JsonMap, file: string, check: Check): void {
  eachMediaType(openapi, (media, pointer) => {
    const { schema = {}, example, examples } = media
    if (example !== undefined) check(schema, example, file, child(pointer, 'example'))
    for (const [name, named] of Object.entries(mapOf(examples)))
      check(schema, mapOf(named).value ?? null, file, child(child(pointer, 'examples'), name))
  })
}

function checkSchemaValues(schemas: JsonMap, source: Source, check: Check): void {
  for (const [name, schema] of Object.entries(schemas)) {
    walkSchema(schema, child('', name), (part, pointer) => {
      if (!isMap(part)) return
      const file = source.schemas.get(name)?.file ?? ''
      if (part.default !== undefined) check(part, part.default, file, child(pointer, 'default'))
      listOf(part.examples).forEach((value, index) => {
        check(part, value, file, child(child(pointer, 'examples'), index))
      })
    })
  }
}
