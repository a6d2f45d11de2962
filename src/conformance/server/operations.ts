// The contract's operations as the suite sends them: their documents, their examples, and what stands in their paths.
import { type OperationId, type OperationInfo, operationManifest } from '../../../generated/operations.ts'
import { type JsonMap, listOf, mapOf } from './json.ts'
import { openapi, resolve } from './schemas.ts'

export interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  schema: JsonMap
}

export function infoOf(id: OperationId): OperationInfo {
  return operationManifest.find(({ operationId }) => operationId === id)!
}

/** The operation's own part of the document. */
export function documentOf({ path, method }: OperationInfo): JsonMap {
  return mapOf(mapOf(mapOf(openapi.paths)[path])[method])
}

export function parametersOf(info: OperationInfo): Parameter[] {
  const item = mapOf(mapOf(openapi.paths)[info.path])
  return [...listOf(item.parameters), ...listOf(documentOf(info).parameters)].map((parameter) => {
    const { name, in: place, schema } = resolve(parameter)
    return { name: String(name), in: place as Parameter['in'], schema: resolve(schema) }
  })
}

/** The schema and the examples of a JSON body, or null where it takes none. */
export function bodyOf(info: OperationInfo): { schema: unknown; examples: unknown[] } | null {
  const content = mapOf(mapOf(documentOf(info).requestBody).content)
  const json = content['application/json']
  if (json === undefined) return null
  const { schema, example, examples } = mapOf(json)
  const values = Object.values(mapOf(examples)).map((one) => mapOf(one).value)
  return { schema, examples: example === undefined ? values : [example, ...values] }
}

/** The headers that an answer of this status declares. */
export function headersOf(info: OperationInfo, status: number): string[] {
  const response = resolve(mapOf(documentOf(info).responses)[String(status)])
  return Object.keys(mapOf(response.headers))
}

/** Whether this status says that a request succeeded: a redirect does where the operation declares nothing else for success. */
export function isSuccess(info: OperationInfo, status: number): boolean {
  const declared = Object.keys(mapOf(documentOf(info).responses))
  if (declared.some((code) => code.startsWith('2'))) return status >= 200 && status < 300
  return status < 400 && declared.includes(String(status))
}

/** The path with its parameters filled in; null where one is missing. */
export function fill(path: string, values: Readonly<Record<string, string>>): string | null {
  let missing = false
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) missing = true
    return encodeURIComponent(value ?? '')
  })
  return missing ? null : filled
}

/** The people, workflows and jobs of the examples' story, which are replaced by what exists. */
const STORY = {
  workflow_id: 'wf_greeting',
  etag: '9b1f0c7de4a25836f7c90b1e2d3a4f5860718293a4b5c6d7e8f90a1b2c3d4e5f',
  job_id: 'job_01',
}

export function retold(example: unknown, facts: typeof STORY): unknown {
  if (typeof example === 'string') {
    const entry = Object.entries(STORY).find(([, told]) => told === example)
    return entry ? facts[entry[0] as keyof typeof STORY] : example
  }
  if (Array.isArray(example)) return example.map((item) => retold(item, facts))
  if (typeof example !== 'object' || example === null) return example
  return Object.fromEntries(Object.entries(example).map(([key, value]) => [key, retold(value, facts)]))
}
