// Derives the manifest of operations from the two documents again, to check the written manifest.
import { HTTP_METHODS } from './diff/http-operations.ts'
import { isMap, type Json, type JsonMap, listOf, mapOf, readReference, resolveReference, textOf } from './json.ts'

/** Records by a key that is unique in their list. */
export type ManifestRecords = ReadonlyMap<string, JsonMap>

/** The members of a record that form its key, by list. */
export const RECORD_KEYS = {
  operations: ['operationId'],
  commands: ['channel', 'command'],
  frames: ['channel', 'frame'],
  events: ['type'],
} as const

export type ManifestList = keyof typeof RECORD_KEYS

export function recordKey(list: ManifestList, record: JsonMap): string {
  return RECORD_KEYS[list].map((key) => textOf(record[key])).join(' ')
}

/** Returns the records of each list, with the members that this reader knows. */
export function deriveManifest(openapi: JsonMap, asyncapi: JsonMap): Record<ManifestList, ManifestRecords> {
  const lists = {
    operations: listOperationRecords(openapi),
    commands: listMessageRecords(asyncapi, toCommandRecord),
    frames: listMessageRecords(asyncapi, toFrameRecord),
    events: listEventRecords(asyncapi),
  }
  const byKey = (list: ManifestList): ManifestRecords =>
    new Map(lists[list].map((record) => [recordKey(list, record), record]))
  return {
    operations: byKey('operations'),
    commands: byKey('commands'),
    frames: byKey('frames'),
    events: byKey('events'),
  }
}

function listOperationRecords(document: JsonMap): JsonMap[] {
  return Object.entries(mapOf(document.paths)).flatMap(([path, item]) =>
    Object.entries(mapOf(item))
      .filter(([method]) => HTTP_METHODS.has(method))
      .map(([method, node]) => toOperationRecord(document, path, method, mapOf(node))),
  )
}

function toOperationRecord(document: JsonMap, path: string, method: string, node: JsonMap): JsonMap {
  const body = mapOf(resolveReference(document, node.requestBody))
  const replies = Object.entries(mapOf(node.responses))
  return {
    operationId: textOf(node.operationId),
    method: method.toUpperCase(),
    path,
    ...readMarkers(node, ['get', 'head'].includes(method) ? 'read' : 'write'),
    access: textOf(node['x-svc-access']) || 'principal',
    request:
      node.requestBody === undefined ? null : { required: body.required === true, content: listContentRecords(body) },
    responses: replies.map(([status, reply]) => ({
      status: Number(status),
      content: listContentRecords(mapOf(resolveReference(document, reply))),
    })),
  }
}

function readMarkers(node: JsonMap, scope: string): JsonMap {
  return {
    status: textOf(node['x-svc-implementation']),
    preview: node['x-svc-preview'] === true,
    scope: textOf(node['x-svc-scope']) || scope,
  }
}

function listContentRecords(node: JsonMap): Json[] {
  return Object.entries(mapOf(node.content)).map(([content_type, media]) => ({
    content_type,
    schema: readSchemaName(mapOf(media).schema),
  }))
}

const SCHEMA_PREFIX = '#/components/schemas/'

/** Returns the name of the schema that a reference names. Null where the schema is written in place. */
function readSchemaName(schema: Json | undefined): string | null {
  const reference = readReference(schema)
  return reference?.startsWith(SCHEMA_PREFIX) ? reference.slice(SCHEMA_PREFIX.length) : null
}

type RecordFactory = (key: string, node: JsonMap, isSent: boolean) => JsonMap | null

function listMessageRecords(document: JsonMap, recordOf: RecordFactory): JsonMap[] {
  const sent = listSentMessages(document)
  return Object.entries(mapOf(document.channels)).flatMap(([channel, value]) => {
    const { address = null, messages } = mapOf(value)
    return Object.entries(mapOf(messages)).flatMap(([key, node]) => {
      const record = recordOf(key, mapOf(node), sent.has(`#/channels/${channel}/messages/${key}`))
      return record === null ? [] : [{ channel, address, ...record }]
    })
  })
}

function toCommandRecord(command: string, node: JsonMap): JsonMap | null {
  if (node['x-svc-kind'] === undefined) return null
  return {
    command,
    kind: node['x-svc-kind'],
    ...readMarkers(node, 'write'),
    request_id: textOf(node['x-svc-request-id']) || 'optional',
    request: readSchemaName(node.payload),
    response: readSchemaName(node['x-svc-result']),
  }
}

function toFrameRecord(frame: string, node: JsonMap, isSent: boolean): JsonMap | null {
  const { status, preview } = readMarkers(node, '')
  return isSent ? { frame, status: status!, preview: preview!, schema: readSchemaName(node.payload) } : null
}

/** References to all messages that the server sends, as a reply or without a request. */
function listSentMessages(document: JsonMap): ReadonlySet<string> {
  const operations = Object.values(mapOf(document.operations)).map(mapOf)
  const lists = operations.map(({ action, messages, reply }) => (action === 'send' ? messages : mapOf(reply).messages))
  return new Set(lists.flatMap((list) => listOf(list).map((message) => readReference(message) ?? '')))
}

function listEventRecords(document: JsonMap): JsonMap[] {
  const variants = listOf(mapOf(resolveReference(document, { $ref: `${SCHEMA_PREFIX}JobEvent` })).oneOf)
  return variants.map((variant) => ({ type: findTypeConstant(document, variant), schema: readSchemaName(variant) }))
}

/** Returns the constant `type` of a variant, at any depth of nesting. */
function findTypeConstant(document: JsonMap, schema: Json): string | null {
  const whole = mapOf(resolveReference(document, schema))
  const { const: type } = mapOf(mapOf(whole.properties).type)
  if (typeof type === 'string') return type
  const parts = [...listOf(whole.oneOf), ...listOf(whole.anyOf), ...listOf(whole.allOf)].filter(isMap)
  return parts.map((part) => findTypeConstant(document, part)).find((found) => found !== null) ?? null
}
