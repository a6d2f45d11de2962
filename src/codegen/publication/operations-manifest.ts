// `operations.json` of the publication: every operation, command, frame and event, with the names of its schemas.
import { type ChannelMessage, type ContractChannel, listChannels } from '../documents/channels.ts'
import type { Contract } from '../documents/contract.ts'
import {
  followPointer,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readSchemaName,
  textOf,
} from '../documents/json-pointer.ts'
import { type ContractOperation, listOperations, type MediaContent } from '../documents/operations.ts'

/** Returns the manifest. A schema is named where an operation refers to it, and null where it is written in place. */
export function createManifest({ openapi, asyncapi, schemas }: Contract, contract_version: string): JsonMap {
  const channels = listChannels(asyncapi)
  return {
    version: 1,
    contract_version,
    operations: listOperations(openapi).map(toOperationRecord),
    commands: channels.flatMap((channel) => listCommandRecords(channel, findChannelAddress(asyncapi, channel))),
    frames: channels.flatMap((channel) =>
      channel.frames.map((frame) => toFrameRecord(frame, findChannelAddress(asyncapi, channel))),
    ),
    events: listEventRecords(schemas, 'JobEvent'),
  }
}

function toOperationRecord(operation: ContractOperation): JsonMap {
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
    request: request && { required: request.required, content: listContentRecords(request.content) },
    responses: replies.map(({ status, content }) => ({ status, content: listContentRecords(content) })),
  }
}

function listContentRecords(content: readonly MediaContent[]): Json[] {
  return content.map(({ media_type, schema }) => ({ content_type: media_type, schema: readSchemaName(schema) }))
}

function listCommandRecords({ name, commands }: ContractChannel, address: string): Json[] {
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

function toFrameRecord({ key, channel, implementation, schema, node }: ChannelMessage, address: string): JsonMap {
  return { frame: key, channel, address, status: implementation, preview: isPreview(node), schema }
}

function isPreview(node: JsonMap): boolean {
  return node['x-svc-preview'] === true
}

function findChannelAddress(asyncapi: JsonMap, { name }: ContractChannel): string {
  return textOf(mapOf(mapOf(asyncapi.channels)[name]).address)
}

/** Returns the variants of the event, each with its constant `type`. */
function listEventRecords(schemas: JsonMap, event: string): Json[] {
  return listOf(mapOf(schemas[event]).oneOf).map((variant) => {
    const schema = readSchemaName(variant)
    return { type: findTypeConstant(schemas, variant), schema }
  })
}

function findTypeConstant(schemas: JsonMap, schema: Json): string | null {
  const name = readSchemaName(schema)
  const whole = name === null ? mapOf(schema) : mapOf(schemas[name])
  const type = followPointer(whole, '/properties/type/const')
  if (typeof type === 'string') return type
  const inside = [...listOf(whole.oneOf), ...listOf(whole.anyOf), ...listOf(whole.allOf)].map((part) =>
    findTypeConstant(schemas, part),
  )
  return inside.find((found) => found !== null) ?? null
}
