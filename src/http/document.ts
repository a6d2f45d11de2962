// The published documents as they are served, and the part of one that the request validator needs.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { OperationInfo } from '../../generated/operations.ts'

const OPENAPI = new URL('../../generated/openapi.json', import.meta.url)
const ASYNCAPI = new URL('../../generated/asyncapi.json', import.meta.url)

/** Both documents, read once. */
export const documents = {
  openapi: once(() => JSON.parse(readFileSync(OPENAPI, 'utf8')) as Record<string, unknown>),
  asyncapi: once(() => JSON.parse(readFileSync(ASYNCAPI, 'utf8')) as Record<string, unknown>),
}

function once<T>(make: () => T): () => T {
  let value: { made: T } | null = null
  return () => {
    value ??= { made: make() }
    return value.made
  }
}

type Json = Record<string, unknown>

/**
 * The OpenAPI document cut down to requests of operations that are validated by it: without answers, examples and
 * security, because every schema that is reachable is compiled for each operation.
 */
export async function validatorDocument(served: readonly OperationInfo[]): Promise<Json> {
  const document = JSON.parse(await readFile(OPENAPI, 'utf8')) as {
    openapi: string
    info: Json
    paths: Record<string, Json>
    components: Json
  }
  const wanted = served.filter((operation) => operation.validation === 'openapi')
  const paths: Record<string, Json> = {}
  for (const { path, method } of wanted) {
    const item = document.paths[path]!
    const { operationId, parameters, requestBody } = item[method.toLowerCase()] as Json
    paths[path] ??= item.parameters ? { parameters: item.parameters } : {}
    paths[path][method.toLowerCase()] = {
      operationId,
      ...(parameters ? { parameters } : {}),
      ...(requestBody ? { requestBody: withoutExamples(requestBody) } : {}),
      responses: { default: { description: 'Any.' } },
    }
  }
  const { schemas, parameters } = document.components
  return {
    openapi: document.openapi,
    info: document.info,
    paths,
    components: { schemas: usedSchemas(paths, parameters, schemas as Json), parameters },
  }
}

function withoutExamples(requestBody: unknown): unknown {
  const { content, ...rest } = requestBody as { content: Record<string, Json> }
  return {
    ...rest,
    content: Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, { schema }])),
  }
}

function usedSchemas(paths: unknown, parameters: unknown, schemas: Json): Json {
  const used: Json = {}
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const name = (value as Json).$ref?.toString().match(/^#\/components\/schemas\/(.+)$/)?.[1]
    if (name && !(name in used)) {
      used[name] = schemas[name]
      visit(schemas[name])
    }
    for (const member of Object.values(value)) visit(member)
  }
  visit(paths)
  visit(parameters)
  return used
}
