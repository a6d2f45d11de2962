// What the manifest of operations has to say of two documents: derived from them again, to hold the written one against it.
import { METHODS } from './diff-http.ts'
import { isMap, type Json, type JsonMap, listOf, mapOf, referenceOf, resolve, textOf } from './json.ts'

/** Records by what tells each from the others of its list. */
export type Records = ReadonlyMap<string, JsonMap>

/** Which members of a record of each list tell it from the others. */
export const KEYS = {
  operations: ['operationId'],
  commands: ['channel', 'command'],
  frames: ['channel', 'frame'],
  events: ['type'],
} as const

export type List = keyof typeof KEYS

export function keyOf(list: List, record: JsonMap): string {
  return KEYS[list].map((key) => textOf(record[key])).join(' ')
}

/** The records of each list, with the members that this reader knows. */
export function manifestOf(openapi: JsonMap, asyncapi: JsonMap): Record<List, Records> {
  const lists = {
    operations: operationRecords(openapi),
    commands: messageRecords(asyncapi, commandRecord),
    frames: messageRecords(asyncapi, frameRecord),
    events: eventRecords(asyncapi),
  }
  const byKey = (list: List): Records => new Map(lists[list].map((record) => [keyOf(list, record), record]))
  return {
    operations: byKey('operations'),
    commands: byKey('commands'),
    frames: byKey('frames'),
    events: byKey('events'),
  }
}

function operationRecords(document: JsonMap): JsonMap[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    Object.entries(mapOf(item))
      .filter(([method]) => METHODS.has(method))
      .map(([method, node]) => operationRecord(document, path, method, mapOf(node))),
  )
}

function operationRecord(document: JsonMap, path: string, method: string, node: JsonMap): JsonMap {
  const body = mapOf(resolve(document, node.requestBody))
  const replies = Object.entries(mapOf(node.responses))
  return {
    operationId: textOf(node.operationId),
    method: method.toUpperCase(),
    path,
    ...markersOf(node, ['get', 'head'].includes(method) ? 'read' : 'write'),
    access: textOf(node['x-svc-access']) || 'principal',
    request:
      node.requestBody === undefined ? null : { required: body.required === true, content: contentRecords(body) },
    responses: replies.map(([status, reply]) => ({
      status: Number(status),
      content: contentRecords(mapOf(resolve(document, reply))),
    })),
  }
}

function markersOf(node: JsonMap, scope: string): JsonMap {
  return {
    status: textOf(node['x-svc-implementation']),
    preview: node['x-svc-preview'] === true,
    scope: textOf(node['x-svc-scope']) || scope,
  }
}

function contentRecords(node: JsonMap): Json[] {
  return Object.entries(mapOf(node.content)).map(([content_type, media]) => ({
    content_type,
    schema: nameOf(mapOf(media).schema),
  }))
}

const SCHEMAS = '#/components/schemas/'

/** The name of a schema that is referred to whole. */
function nameOf(schema: Json | undefined): string | null {
  const reference = referenceOf(schema)
  return reference?.startsWith(SCHEMAS) ? reference.slice(SCHEMAS.length) : null
}

type RecordOf = (key: string, node: JsonMap, isSent: boolean) => JsonMap | null

function messageRecords(document: JsonMap, recordOf: RecordOf): JsonMap[] {
  const sent = sentMessages(document)
  return Object.entries(mapOf(document.channels)).flatMap(([channel, value]) => {
    const { address = null, messages } = mapOf(value)
    return Object.entries(mapOf(messages)).flatMap(([key, node]) => {
      const record = recordOf(key, mapOf(node), sent.has(`#/channels/${channel}/messages/${key}`))
      return record === null ? [] : [{ channel, address, ...record }]
    })
  })
}

function commandRecord(command: string, node: JsonMap): JsonMap | null {
  if (node['x-svc-kind'] === undefined) return null
  return {
    command,
    kind: node['x-svc-kind'],
    ...markersOf(node, 'write'),
    request_id: textOf(node['x-svc-request-id']) || 'optional',
    request: nameOf(node.payload),
    response: nameOf(node['x-svc-result']),
  }
}

function frameRecord(frame: string, node: JsonMap, isSent: boolean): JsonMap | null {
  const { status, preview } = markersOf(node, '')
  return isSent ? { frame, status: status!, preview: preview!, schema: nameOf(node.payload) } : null
}

/** References to all messages that the server sends, on its own account or as a reply. */
function sentMessages(document: JsonMap): ReadonlySet<string> {
  const operations = Object.values(mapOf(document.operations)).map(mapOf)
  const lists = operations.map(({ action, messages, reply }) => (action === 'send' ? messages : mapOf(reply).messages))
  return new Set(lists.flatMap((list) => listOf(list).map((message) => referenceOf(message) ?? '')))
}

function eventRecords(document: JsonMap): JsonMap[] {
  const variants = listOf(mapOf(resolve(document, { $ref: `${SCHEMAS}JobEvent` })).oneOf)
  return variants.map((variant) => ({ type: typeOf(document, variant), schema: nameOf(variant) }))
}

/** The constant `type` of a variant, however deep it is written. */
function typeOf(document: JsonMap, schema: Json): string | null {
  const whole = mapOf(resolve(document, schema))
  const { const: type } = mapOf(mapOf(whole.properties).type)
  if (typeof type === 'string') return type
  const parts = [...listOf(whole.oneOf), ...listOf(whole.anyOf), ...listOf(whole.allOf)].filter(isMap)
  return parts.map((part) => typeOf(document, part)).find((found) => found !== null) ?? null
}
