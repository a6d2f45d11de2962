// Which schemas belong to the lifecycle profile, and each as a file of its own in JSON Schema draft 2020-12.
import type { CodegenConfig } from '../../codegen.config.ts'
import { eachMessage } from './channels.ts'
import type { Contract } from './contract.ts'
import { operationsOf } from './operations.ts'
import { isMap, type Json, type JsonMap, listOf, mapOf, referenceOf, resolved, schemaName } from './tree.ts'

type Publication = CodegenConfig['publication']

/** The names, sorted: what the profile's operations and messages use, what its files hold, and all that these refer to. */
export function lifecycleSchemas(contract: Contract, publication: Publication): string[] {
  const names = new Set<string>(publication.schemas)
  const files = new Set<string>(publication.schema_files)
  for (const [name, file] of contract.schema_files) if (files.has(file) && name in contract.schemas) names.add(name)
  for (const { tag, operationId, node, parameters } of operationsOf(contract.openapi)) {
    const own = (publication.tags as readonly string[]).includes(tag)
    if (!own && !(publication.operations as readonly string[]).includes(operationId)) continue
    addReferenced(contract.openapi, [node, parameters as unknown as Json], names)
  }
  eachMessage(contract.asyncapi, ({ node }) => {
    const tags = listOf(node.tags).map((tag) => referenceOf(tag)?.split('/').at(-1) ?? '')
    if (tags.some((tag) => (publication.tags as readonly string[]).includes(tag)))
      addReferenced(contract.asyncapi, [node], names)
  })
  // The set grows while it is walked.
  for (const name of names) addReferenced(contract.asyncapi, [contract.schemas[name] ?? null], names)
  return [...names].sort()
}

/** Adds the schemas that a part of a document refers to, through its shared replies and parameters, not through schemas. */
function addReferenced(document: JsonMap, parts: readonly Json[], names: Set<string>): void {
  for (const part of parts) {
    const name = schemaName(part)
    if (name !== null) names.add(name)
    else if (referenceOf(part)?.startsWith('#/components/')) addReferenced(document, [resolved(document, part)], names)
    else if (Array.isArray(part)) addReferenced(document, part, names)
    else addReferenced(document, Object.values(mapOf(part)), names)
  }
}

/** One schema with its address as `$id`; the others are referred to as files beside it. */
export function schemaFile(schemas: JsonMap, name: string, base: string): JsonMap {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `${base}${name}.json`,
    title: name,
    ...mapOf(withFileReferences(schemas[name] ?? null)),
  }
}

const LITERALS = new Set(['examples', 'default', 'const', 'enum'])

function withFileReferences(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => withFileReferences(item))
  if (!isMap(value)) return value
  const name = names ? null : schemaName(value)
  if (name !== null) return { $ref: `${name}.json` }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      !names && LITERALS.has(key)
        ? structuredClone(member)
        : withFileReferences(member, !names && key === 'properties'),
    ]),
  )
}
