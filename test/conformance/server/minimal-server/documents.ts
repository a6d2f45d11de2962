// What the minimal server goes by: the published documents, its claims in them, and a judge of instances of their schemas.
import { readFileSync } from 'node:fs'

// biome-ignore lint/suspicious/noExplicitAny: a document is read as it is
export type Doc = any

export const documents: { openapi: Doc; asyncapi: Doc } = {
  openapi: read('openapi.json'),
  asyncapi: read('asyncapi.json'),
}

function read(name: string): Doc {
  return JSON.parse(readFileSync(new URL(`../../../../generated/${name}`, import.meta.url), 'utf8'))
}

/** Texts of the documents by what is claimed in them: of the many servers of a test most claim the same. */
const CLAIMED = new Map<string, { openapi: string; asyncapi: string }>()

/** The documents, in JSON, with the markers of what is served, and nothing else claimed. */
export function claimed(
  operations: ReadonlyMap<string, string>,
  commands: ReadonlyMap<string, string>,
  misplace: boolean,
) {
  const key = JSON.stringify([[...operations], [...commands], misplace])
  const made = CLAIMED.get(key) ?? marked(operations, commands, misplace)
  CLAIMED.set(key, made)
  return made
}

function marked(operations: ReadonlyMap<string, string>, commands: ReadonlyMap<string, string>, misplace: boolean) {
  const openapi = structuredClone(documents.openapi)
  const asyncapi = structuredClone(documents.asyncapi)
  for (const item of Object.values<Doc>(openapi.paths)) {
    for (const operation of Object.values<Doc>(item)) {
      if (operation?.operationId) operation['x-svc-implementation'] = operations.get(operation.operationId) ?? 'planned'
    }
  }
  if (misplace) openapi.paths['/api/elsewhere'] = { get: { ...openapi.paths['/ready'].get } }
  if (misplace) openapi.paths['/ready'] = {}
  for (const [name, message] of Object.entries<Doc>(asyncapi.channels.ws.messages)) {
    message['x-svc-implementation'] = commands.get(name) ?? 'planned'
  }
  return { openapi: JSON.stringify(openapi), asyncapi: JSON.stringify(asyncapi) }
}

export interface Problem {
  path: string
  message: string
}

/** Everything that is wrong with a value, by the keywords that the contract uses. */
export function problems(schema: Doc, value: unknown, document: Doc, path = ''): Problem[] {
  if (schema === undefined || schema === true) return []
  if (schema.$ref) return problems(at(document, schema.$ref), value, document, path)
  const say = (message: string) => [{ path, message }]
  if (schema.oneOf || schema.anyOf) {
    const tried = (schema.oneOf ?? schema.anyOf).map((one: Doc) => problems(one, value, document, path))
    if (tried.some((found: Problem[]) => found.length === 0)) return []
    return value === null ? say('must not be null') : tried[0]
  }
  const parts = (schema.allOf ?? []).flatMap((one: Doc) => problems(one, value, document, path))
  const typed = !schema.type || [schema.type].flat().some((type: string) => isA(type, value))
  if (!typed && value === null) return [...parts, ...say('must not be null')]
  if (!typed) return [...parts, ...say(`must be ${schema.type}`)]
  if (schema.enum && !schema.enum.includes(value)) return [...parts, ...say('must be one of the values')]
  if ('const' in schema && schema.const !== value) return [...parts, ...say(`must be ${schema.const}`)]
  return [...parts, ...bounds(schema, value, say), ...inside(schema, value, document, path)]
}

function at(document: Doc, reference: string): Doc {
  return reference
    .slice(2)
    .split('/')
    .reduce((value, key) => value[key.replaceAll('~1', '/')], document)
}

function isA(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function bounds(schema: Doc, value: unknown, say: (message: string) => Problem[]): Problem[] {
  if (typeof value === 'string') {
    const length = [...value].length
    return length < (schema.minLength ?? 0) || length > (schema.maxLength ?? Infinity) ? say('has a wrong length') : []
  }
  if (typeof value === 'number') {
    const low = value < (schema.minimum ?? -Infinity) || value <= (schema.exclusiveMinimum ?? -Infinity)
    return low || value > (schema.maximum ?? Infinity) ? say('is out of bounds') : []
  }
  if (!Array.isArray(value)) return []
  const doubled = schema.uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length
  const counted = value.length < (schema.minItems ?? 0) || value.length > (schema.maxItems ?? Infinity)
  return doubled || counted ? say('has a wrong number of items') : []
}

function inside(schema: Doc, value: unknown, document: Doc, path: string): Problem[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => problems(schema.items, item, document, `${path}/${index}`))
  if (typeof value !== 'object' || value === null) return []
  const known = schema.properties ?? {}
  const map = value as Record<string, unknown>
  if (Object.keys(map).length > (schema.maxProperties ?? Infinity)) return [{ path, message: 'has too many members' }]
  const missing = (schema.required ?? []).filter((key: string) => !Object.hasOwn(map, key))
  return [
    ...missing.map((key: string) => ({ path: `${path}/${key}`, message: 'is missing' })),
    ...Object.keys(map).flatMap((key) => {
      if (Object.hasOwn(known, key)) return problems(known[key], map[key], document, `${path}/${key}`)
      return schema.additionalProperties === false ? [{ path: `${path}/${key}`, message: 'is unknown' }] : []
    }),
  ]
}
