// The part of the OpenAPI document that express-openapi-validator is given, shaped so that it judges and does nothing else.
import { readFile } from 'node:fs/promises'
import type { OperationInfo } from '../../../../generated/operations.ts'
import { restoreExactSchemas } from '../../../contract/exact-schemas.ts'
import type { JsonMap } from '../../../contract/json.ts'

const OPENAPI = new URL('../../../../generated/openapi.json', import.meta.url)

type Json = Record<string, unknown>

/** What is checked besides, because the validator stops at it or does not see it. */
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
 * The OpenAPI document cut down to the requests of operations that are validated by it: without answers, examples and
 * security, because every schema that is reachable is compiled for each operation.
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
    // Handlers that read a body themselves judge it as well.
    const requestBody = info.body === 'json' ? declaredBody : undefined
    const declared = [...((item.parameters ?? []) as Json[]), ...((operation.parameters ?? []) as Json[])]
    // Without `allowReserved` it refuses characters that a query may hold as they are (RFC 3986, section 3.4).
    const parameters = declared.map(
      (one): Json => ({ ...resolveParameter(one, components.parameters), allowReserved: true }),
    )
    const query_names = parameters.filter((one) => one.in === 'query').map((one) => one.name as string)
    facts.set(operationId, { query_names: new Set(query_names), body_required: requestBody?.required === true })
    const request = {
      operationId,
      parameters,
      ...(requestBody ? { requestBody: reduceRequestBody(requestBody) } : {}),
      responses: { default: { description: 'Any.' } },
    }
    // Express answers HEAD from GET, and the validator takes no method for another.
    paths[formatValidatorPath(info)] = { [method]: request, ...(method === 'get' ? { head: request } : {}) }
  }
  const document = { openapi, info, paths, components: { schemas: collectUsedSchemas(paths, components.schemas) } }
  return { document: restoreExactSchemas(document as unknown as JsonMap), facts }
}

/** An operation's own address in that document: the router has chosen already, and the validator is not to choose again. */
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

// The validator would write defaults into bodies, and a graph is to be kept as it was sent.
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
