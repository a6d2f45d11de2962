// The schemas of the lifecycle profile, each as a file of its own in JSON Schema draft 2020-12.
import type { CodegenConfig } from '../../../codegen.config.ts'
import { forEachMessage } from '../documents/channels.ts'
import type { Contract } from '../documents/contract.ts'
import {
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readReference,
  readSchemaName,
  resolveToMap,
} from '../documents/json-pointer.ts'
import { listOperations } from '../documents/operations.ts'

type PublicationConfig = CodegenConfig['publication']

/** Returns the sorted names of schemas that the profile's operations, messages and files use, directly or through references. */
export function listLifecycleSchemas(contract: Contract, publication: PublicationConfig): string[] {
  const names = new Set<string>(publication.schemas)
  const files = new Set<string>(publication.schema_files)
  for (const [name, file] of contract.schema_files) if (files.has(file) && name in contract.schemas) names.add(name)
  for (const { tag, operationId, node, parameters } of listOperations(contract.openapi)) {
    const own = (publication.tags as readonly string[]).includes(tag)
    if (!own && !(publication.operations as readonly string[]).includes(operationId)) continue
    addReferenced(contract.openapi, [node, parameters as unknown as Json], names)
  }
  forEachMessage(contract.asyncapi, ({ node }) => {
    const tags = listOf(node.tags).map((tag) => readReference(tag)?.split('/').at(-1) ?? '')
    if (tags.some((tag) => (publication.tags as readonly string[]).includes(tag)))
      addReferenced(contract.asyncapi, [node], names)
  })
  // The set grows during the walk.
  for (const name of names) addReferenced(contract.asyncapi, [contract.schemas[name] ?? null], names)
  return [...names].sort()
}

/** Adds the schemas that a part of a document refers to, through shared replies and parameters, but not through schemas. */
function addReferenced(document: JsonMap, parts: readonly Json[], names: Set<string>): void {
  for (const part of parts) {
    const name = readSchemaName(part)
    if (name !== null) names.add(name)
    else if (readReference(part)?.startsWith('#/components/'))
      addReferenced(document, [resolveToMap(document, part)], names)
    else if (Array.isArray(part)) addReferenced(document, part, names)
    else addReferenced(document, Object.values(mapOf(part)), names)
  }
}

/** Returns one schema with its URL as `$id`. It refers to other schemas as neighbouring files. */
export function createSchemaFile(schemas: JsonMap, name: string, base: string): JsonMap {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${base}${name}.json`,
    title: name,
    ...mapOf(toFileReferences(schemas[name] ?? null)),
  }
}

const LITERAL_KEYWORDS = new Set(['examples', 'default', 'const', 'enum'])

function toFileReferences(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => toFileReferences(item))
  if (!isMap(value)) return value
  const name = names ? null : readSchemaName(value)
  if (name !== null) return { $ref: `${name}.json` }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      !names && LITERAL_KEYWORDS.has(key)
        ? structuredClone(member)
        : toFileReferences(member, !names && key === 'properties'),
    ]),
  )
}
