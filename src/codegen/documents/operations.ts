// The operations of the bundled OpenAPI document, with references within the document resolved.
import { appendToPointer, isMap, type Json, type JsonMap, listOf, mapOf, resolveToMap, textOf } from './json-pointer.ts'

export interface OperationParameter {
  name: string
  in: string
  required: boolean
  /** Whether an empty value is allowed. */
  empty: boolean
  schema: Json
}

export interface MediaContent {
  media_type: string
  schema: Json
}

export interface DeclaredReply {
  status: number
  content: readonly MediaContent[]
}

export interface ContractOperation {
  operationId: string
  method: string
  path: string
  /** The position in the document. */
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
  parameters: readonly OperationParameter[]
  request: { required: boolean; content: readonly MediaContent[] } | null
  replies: readonly DeclaredReply[]
  /** The operation as the document writes it. */
  node: JsonMap
}

const HTTP_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Returns the operations in the order of the document. */
export function listOperations(document: JsonMap): ContractOperation[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    HTTP_METHODS.filter((method) => isMap(mapOf(item)[method])).map((method) =>
      toOperation(document, path, mapOf(item), method),
    ),
  )
}

function toOperation(document: JsonMap, path: string, item: JsonMap, method: string): ContractOperation {
  const node = mapOf(item[method])
  const request = node.requestBody === undefined ? null : resolveToMap(document, node.requestBody)
  return {
    operationId: textOf(node.operationId),
    method,
    path,
    pointer: appendToPointer(appendToPointer('/paths', path), method),
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
    parameters: listParameters(document, item, node),
    request: request && { required: request.required === true, content: listMediaContent(request) },
    replies: Object.entries(mapOf(node.responses)).map(([status, reply]) => ({
      status: Number(status),
      content: listMediaContent(resolveToMap(document, reply)),
    })),
    node,
  }
}

/** A parameter of the operation overrides one of its path with the same name. */
function listParameters(document: JsonMap, item: JsonMap, node: JsonMap): OperationParameter[] {
  const byName = new Map<string, OperationParameter>()
  for (const written of [...listOf(item.parameters), ...listOf(node.parameters)]) {
    const parameter = resolveToMap(document, written)
    const { name, schema = {}, required, allowEmptyValue } = parameter
    const place = textOf(parameter.in)
    const known = { name: textOf(name), in: place, required: required === true, empty: allowEmptyValue === true }
    byName.set(`${place} ${known.name}`, { ...known, schema })
  }
  return [...byName.values()]
}

function listMediaContent(node: JsonMap): MediaContent[] {
  return Object.entries(mapOf(node.content)).map(([media_type, media]) => ({
    media_type,
    schema: mapOf(media).schema ?? {},
  }))
}

/** Whether a content type is JSON. */
export function isJsonMediaType(media_type: string): boolean {
  return /^application\/([\w.-]+\+)?json$/.test(media_type)
}

type MediaTypeVisitor = (media: JsonMap, pointer: string, media_type: string) => void

/** Visits the media types of all requests and replies. */
export function forEachMediaType(document: JsonMap, visit: MediaTypeVisitor): void {
  visitMediaTypes(document, '', visit)
}

function visitMediaTypes(value: Json, pointer: string, visit: MediaTypeVisitor): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      visitMediaTypes(item, appendToPointer(pointer, index), visit)
    })
    return
  }
  for (const [key, member] of Object.entries(mapOf(value))) {
    if (key === 'schema' || key === 'schemas' || key === 'examples') continue
    const at = appendToPointer(pointer, key)
    if (key !== 'content') visitMediaTypes(member, at, visit)
    else for (const [type, media] of Object.entries(mapOf(member))) visit(mapOf(media), appendToPointer(at, type), type)
  }
}
