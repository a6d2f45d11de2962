// Reduces the OpenAPI document for express-openapi-validator, so that it validates and does nothing else.
import { readFile } from 'node:fs/promises'
import type { OperationInfo } from '../../../../generated/operations.ts'
import { restoreExactSchemas } from '../../../contract/exact-schemas.ts'
import type { JsonMap } from '../../../contract/json.ts'

const OPENAPI = new URL('../../../../generated/openapi.json', import.meta.url)

type Json = Record<string, unknown>

/** Requirements that are checked apart, because the validator stops at them or ignores them. */
export interface InputRequirements {
  readonly query_names: ReadonlySet<string>
  readonly body_required: boolean
}

interface Document {
  openapi: string
  info: Json
  paths: Record<string, Record<string, Json> & { parameters?: unknown }>
  components: { schemas: Json; parameters: Record<string, Json> }
}

/**
 * Loads the OpenAPI document, reduced to the requests of operations that this validator handles. It has no responses, examples or security, since
 * every reachable schema is compiled for each operation.
 */
export async function loadValidatorDocument(
  served: readonly OperationInfo[],
): Promise<{ document: Json; facts: ReadonlyMap<string, InputRequirements> }> {
  const { openapi, info, paths: all, components } = JSON.parse(await readFile(OPENAPI, 'utf8')) as Document
  const facts = new Map<string, InputRequirements>()
  const paths: Record<string, Json> = {}
  for (const info of served.filter(({ validation }) => validation === 'openapi')) {
    const { path, method, operationId } = info
    const item = all[path]!
    const { requestBody: declaredBody, ...operation } = item[method] as Json & { requestBody?: Json }
    // Handlers that read their body also validate it.
    const requestBody = info.body === 'json' ? declaredBody : undefined
    const declared = [...((item.parameters ?? []) as Json[]), ...((operation.parameters ?? []) as Json[])]
    // Without `allowReserved` the validator refuses characters that a query may contain unescaped (RFC 3986, section 3.4).
    const parameters = declared.map(
      (parameter): Json => ({ ...resolveParameter(parameter, components.parameters), allowReserved: true }),
    )
    const query_names = parameters
      .filter((parameter) => parameter.in === 'query')
      .map((parameter) => parameter.name as string)
    facts.set(operationId, { query_names: new Set(query_names), body_required: requestBody?.required === true })
    const request = {
      operationId,
      parameters,
      ...(requestBody ? { requestBody: reduceRequestBody(requestBody) } : {}),
      responses: { default: { description: 'Any.' } },
    }
    // Express routes HEAD to GET; the validator needs both methods.
    paths[formatValidatorPath(info)] = { [method]: request, ...(method === 'get' ? { head: request } : {}) }
  }
  const document = { openapi, info, paths, components: { schemas: collectUsedSchemas(paths, components.schemas) } }
  return { document: restoreExactSchemas(document as unknown as JsonMap), facts }
}

/** The path of an operation in the reduced document. The router has chosen already, and the validator is not to choose again. */
function formatValidatorPath({ operationId, path }: OperationInfo): string {
  return `/${operationId}${path.match(/\/\{\w+\}/g)?.join('') ?? ''}`
}

/** The URL under which the validator finds a request of this operation, with the values of its path parameters. */
export function formatValidatorUrl(
  info: OperationInfo,
  values: Readonly<Record<string, unknown>>,
  search: string,
): string {
  const path = formatValidatorPath(info).replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values[name])),
  )
  return path + search
}

function resolveParameter(parameter: Json, shared: Record<string, Json>): Json {
  const name = typeof parameter.$ref === 'string' ? parameter.$ref.split('/').at(-1)! : null
  return name === null ? parameter : shared[name]!
}

function reduceRequestBody({ content, ...rest }: Json): Json {
  const types = Object.entries(content as Record<string, Json>)
  return {
    ...rest,
    content: Object.fromEntries(types.map(([type, { schema }]) => [type, { schema: removeDefaults(schema) }])),
  }
}

function collectUsedSchemas(from: unknown, schemas: Json): Json {
  const used: Json = {}
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const reference = (value as Json).$ref
    const name = typeof reference === 'string' ? reference.match(/^#\/components\/schemas\/(.+)$/)?.[1] : undefined
    if (name && !(name in used)) {
      used[name] = removeDefaults(schemas[name])
      visit(schemas[name])
    }
    for (const member of Object.values(value)) visit(member)
  }
  visit(from)
  return used
}

// The validator would write defaults into bodies, but a graph is kept as it was sent.
function removeDefaults(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(removeDefaults)
  if (typeof schema !== 'object' || schema === null) return schema
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== 'default')
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, removeKeywordDefaults(keyword, value)]))
}

function removeKeywordDefaults(keyword: string, value: unknown): unknown {
  if (keyword === 'enum' || keyword === 'const') return value
  if (keyword !== 'properties') return removeDefaults(value)
  return Object.fromEntries(Object.entries(value as Json).map(([name, schema]) => [name, removeDefaults(schema)]))
}
