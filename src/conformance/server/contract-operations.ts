// The contract's operations as the suite sends them: their documents, examples and path parameters.
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { openapiDocument, resolveSchema } from './contract-schemas.ts'
import { type JsonMap, listOf, mapOf } from './json.ts'

export interface DocumentedParameter {
  name: string
  in: 'query' | 'header' | 'path'
  schema: JsonMap
}

export function findOperation(id: OperationId): OperationInfo {
  return operationManifest.find(({ operationId }) => operationId === id)!
}

/** Returns the operation's part of the document. */
export function findOperationDocument({ path, method }: OperationInfo): JsonMap {
  return mapOf(mapOf(mapOf(openapiDocument.paths)[path])[method])
}

export function listParameters(info: OperationInfo): DocumentedParameter[] {
  const item = mapOf(mapOf(openapiDocument.paths)[info.path])
  return [...listOf(item.parameters), ...listOf(findOperationDocument(info).parameters)].map((parameter) => {
    const { name, in: place, schema } = resolveSchema(parameter)
    return { name: String(name), in: place as DocumentedParameter['in'], schema: resolveSchema(schema) }
  })
}

/** Returns the schema and the examples of a JSON body. Null for an operation without one. */
export function findJsonBody(info: OperationInfo): { schema: unknown; examples: unknown[] } | null {
  const content = mapOf(mapOf(findOperationDocument(info).requestBody).content)
  const json = content['application/json']
  if (json === undefined) return null
  const { schema, example, examples } = mapOf(json)
  const values = Object.values(mapOf(examples)).map((one) => mapOf(one).value)
  return { schema, examples: example === undefined ? values : [example, ...values] }
}

/** Returns the headers that the contract declares for an answer of this status. */
export function listResponseHeaders(info: OperationInfo, status: number): string[] {
  const response = resolveSchema(mapOf(findOperationDocument(info).responses)[String(status)])
  return Object.keys(mapOf(response.headers))
}

/** Whether this status is a success. A redirect is one where the operation declares no other success. */
export function isSuccessStatus(info: OperationInfo, status: number): boolean {
  const declared = Object.keys(mapOf(findOperationDocument(info).responses))
  if (declared.some((code) => code.startsWith('2'))) return status >= 200 && status < 300
  return status < 400 && declared.includes(String(status))
}

/** Fills in the parameters of a path. Null where one is missing. */
export function fillPath(path: string, values: Readonly<Record<string, string>>): string | null {
  let missing = false
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) missing = true
    return encodeURIComponent(value ?? '')
  })
  return missing ? null : filled
}

/** The people, workflows and jobs in the examples. The suite replaces them by existing ones. */
const EXAMPLE_IDS = {
  workflow_id: 'wf_greeting',
  etag: '9b1f0c7de4a25836f7c90b1e2d3a4f5860718293a4b5c6d7e8f90a1b2c3d4e5f',
  job_id: 'job_01',
}

export function replaceExampleIds(example: unknown, facts: typeof EXAMPLE_IDS): unknown {
  if (typeof example === 'string') {
    const entry = Object.entries(EXAMPLE_IDS).find(([, told]) => told === example)
    return entry ? facts[entry[0] as keyof typeof EXAMPLE_IDS] : example
  }
  if (Array.isArray(example)) return example.map((item) => replaceExampleIds(item, facts))
  if (typeof example !== 'object' || example === null) return example
  return Object.fromEntries(Object.entries(example).map(([key, value]) => [key, replaceExampleIds(value, facts)]))
}
