// `operations.json` of the publication: every operation, command, frame and event with what becomes of it.
import { type Channel, channelsOf, type Message } from './channels.ts'
import type { Contract } from './contract.ts'
import { type Content, type Operation, operationsOf } from './operations.ts'
import { type Json, type JsonMap, listOf, lookUp, mapOf, schemaName, textOf } from './tree.ts'

/** The manifest. Schemas are named where an operation refers to one whole, and null where it writes one in place. */
export function manifestOf({ openapi, asyncapi, schemas }: Contract, contract_version: string): JsonMap {
  const channels = channelsOf(asyncapi)
  return {
    version: 1,
    contract_version,
    operations: operationsOf(openapi).map(operationRecord),
    commands: channels.flatMap((channel) => commandRecords(channel, addressOf(asyncapi, channel))),
    frames: channels.flatMap((channel) =>
      channel.frames.map((frame) => frameRecord(frame, addressOf(asyncapi, channel))),
    ),
    events: eventRecords(schemas, 'JobEvent'),
  }
}

function operationRecord(operation: Operation): JsonMap {
  const { operationId, method, path, tag, access, scope, errors, request, replies, node } = operation
  return {
    operationId,
    method: method.toUpperCase(),
    path,
    tag,
    status: operation.implementation,
    preview: isPreview(node),
    access,
    scope,
    errors,
    request: request && { required: request.required, content: contentRecords(request.content) },
    responses: replies.map(({ status, content }) => ({ status, content: contentRecords(content) })),
  }
}

function contentRecords(content: readonly Content[]): Json[] {
  return content.map(({ media_type, schema }) => ({ content_type: media_type, schema: schemaName(schema) }))
}

function commandRecords({ name, commands }: Channel, address: string): Json[] {
  return commands.map(({ key, kind, request_id, scope, schema, result, implementation, node }) => ({
    command: key,
    channel: name,
    address,
    kind,
    status: implementation,
    preview: isPreview(node),
    scope,
    request_id,
    request: schema,
    response: result,
  }))
}

function frameRecord({ key, channel, implementation, schema, node }: Message, address: string): JsonMap {
  return { frame: key, channel, address, status: implementation, preview: isPreview(node), schema }
}

function isPreview(node: JsonMap): boolean {
  return node['x-svc-preview'] === true
}

function addressOf(asyncapi: JsonMap, { name }: Channel): string {
  return textOf(mapOf(mapOf(asyncapi.channels)[name]).address)
}

/** The variants of the event, each with the `type` that tells it from the others. */
function eventRecords(schemas: JsonMap, event: string): Json[] {
  return listOf(mapOf(schemas[event]).oneOf).map((variant) => {
    const schema = schemaName(variant)
    return { type: typeOf(schemas, variant), schema }
  })
}

function typeOf(schemas: JsonMap, schema: Json): string | null {
  const name = schemaName(schema)
  const whole = name === null ? mapOf(schema) : mapOf(schemas[name])
  const type = lookUp(whole, '/properties/type/const')
  if (typeof type === 'string') return type
  const inside = [...listOf(whole.oneOf), ...listOf(whole.anyOf), ...listOf(whole.allOf)].map((part) =>
    typeOf(schemas, part),
  )
  return inside.find((found) => found !== null) ?? null
}
