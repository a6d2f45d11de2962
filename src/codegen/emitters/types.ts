// Emits `types.ts`: TypeScript types of all schemas, parameters, requests and replies, made by openapi-typescript.
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import type { Contract } from '../documents/contract.ts'
import { isMap, type Json, type JsonMap, mapOf } from '../documents/json-pointer.ts'

/** Turns the HTTP operations and the schemas of both documents into one module. */
export async function emitTypes({ openapi, schemas }: Pick<Contract, 'openapi' | 'schemas'>): Promise<string> {
  const document = { ...openapi, components: { ...mapOf(openapi.components), schemas } }
  const nodes = await openapiTS(withoutExamples(document) as unknown as OpenAPI3, {
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    defaultNonNullable: false,
    emptyObjectsUnknown: true,
    silent: true,
    transform: (schema) => (schema.format === 'binary' ? createBlobType() : undefined),
  })
  return astToString(nodes)
}

function createBlobType(): ts.TypeNode {
  return ts.factory.createTypeReferenceNode('Blob')
}

/** Examples have no effect on types, but would take most of the time. */
function withoutExamples(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutExamples(item))
  if (!isMap(value)) return value
  const result: JsonMap = {}
  for (const [key, member] of Object.entries(value)) {
    if (names || key !== 'examples') result[key] = withoutExamples(member, !names && key === 'properties')
  }
  return result
}
