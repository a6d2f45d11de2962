// The operations of the bundled OpenAPI document, with references within the document followed.
import { child, isMap, type Json, type JsonMap, listOf, mapOf, resolved, textOf } from './tree.ts'

export interface Parameter {
  name: string
  in: string
  required: boolean
  /** Whether an empty value says something. */
  empty: boolean
  schema: Json
}

export interface Content {
  media_type: string
  schema: Json
}

export interface Reply {
  status: number
  content: readonly Content[]
}

export interface Operation {
  operationId: string
  method: string
  path: string
  /** Where it stands in the document. */
  pointer: string
  tag: string
  implementation: string
  access: string
  validation: 'precompiled' | 'openapi'
  wildcard: string | null
  trailing_slash: boolean
  errors: string
  body: string
  scope: string
  rate_limit: string
  preview: boolean
  switch: string | null
  parameters: readonly Parameter[]
  request: { required: boolean; content: readonly Content[] } | null
  replies: readonly Reply[]
  /** As it is written. */
  node: JsonMap
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** The operations in the order of the document. */
export function operationsOf(document: JsonMap): Operation[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    METHODS.filter((method) => isMap(mapOf(item)[method])).map((method) =>
      operationOf(document, path, mapOf(item), method),
    ),
  )
}

function operationOf(document: JsonMap, path: string, item: JsonMap, method: string): Operation {
  const node = mapOf(item[method])
  const request = node.requestBody === undefined ? null : resolved(document, node.requestBody)
  return {
    operationId: textOf(node.operationId),
    method,
    path,
    pointer: child(child('/paths', path), method),
    tag: textOf(listOf(node.tags)[0]),
    implementation: textOf(node['x-svc-implementation']),
    access: textOf(node['x-svc-access']) || 'principal',
    validation: node['x-svc-validation'] === 'precompiled' ? 'precompiled' : 'openapi',
    wildcard: textOf(node['x-svc-wildcard']) || null,
    trailing_slash: node['x-svc-trailing-slash'] === true,
    errors: textOf(node['x-svc-errors']) || 'api',
    body: textOf(node['x-svc-body']) || (request ? 'json' : 'none'),
    scope: textOf(node['x-svc-scope']) || (method === 'get' || method === 'head' ? 'read' : 'write'),
    rate_limit: textOf(node['x-svc-rate-limit']) || 'common',
    preview: node['x-svc-preview'] === true,
    switch: textOf(node['x-svc-switch']) || null,
    parameters: parametersOf(document, item, node),
    request: request && { required: request.required === true, content: contentOf(request) },
    replies: Object.entries(mapOf(node.responses)).map(([status, reply]) => ({
      status: Number(status),
      content: contentOf(resolved(document, reply)),
    })),
    node,
  }
}

/** Those of the operation come before those of its path with the same name. */
function parametersOf(document: JsonMap, item: JsonMap, node: JsonMap): Parameter[] {
  const byName = new Map<string, Parameter>()
  for (const written of [...listOf(item.parameters), ...listOf(node.parameters)]) {
    const parameter = resolved(document, written)
    const { name, schema = {}, required, allowEmptyValue } = parameter
    const place = textOf(parameter.in)
    const known = { name: textOf(name), in: place, required: required === true, empty: allowEmptyValue === true }
    byName.set(`${place} ${known.name}`, { ...known, schema })
  }
  return [...byName.values()]
}

function contentOf(node: JsonMap): Content[] {
  return Object.entries(mapOf(node.content)).map(([media_type, media]) => ({
    media_type,
    schema: mapOf(media).schema ?? {},
  }))
}

/** Whether bodies of a content type are JSON. */
export function isJson(media_type: string): boolean {
  return /^application\/([\w.-]+\+)?json$/.test(media_type)
}

type VisitMedia = (media: JsonMap, pointer: string, media_type: string) => void

/** Visits each media type of requests and replies, wherever it stands in the document. */
export function eachMediaType(document: JsonMap, visit: VisitMedia): void {
  searchMedia(document, '', visit)
}

function searchMedia(value: Json, pointer: string, visit: VisitMedia): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      searchMedia(item, child(pointer, index), visit)
    })
    return
  }
  for (const [key, member] of Object.entries(mapOf(value))) {
    if (key === 'schema' || key === 'schemas' || key === 'examples') continue
    const at = child(pointer, key)
    if (key !== 'content') searchMedia(member, at, visit)
    else for (const [type, media] of Object.entries(mapOf(member))) visit(mapOf(media), child(at, type), type)
  }
}
