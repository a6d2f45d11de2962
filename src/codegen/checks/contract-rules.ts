// Rules of the contract beyond the standards of its documents: keywords, markers, tags, descriptions.
import type { CodegenConfig } from '../../../codegen.config.ts'
import {
  type ChannelMessage,
  type ChannelOperation,
  forEachMessage,
  listChannelOperations,
  listChannels,
} from '../documents/channels.ts'
import type { ContractProblem } from '../documents/contract-problems.ts'
import type { ContractSource } from '../documents/contract-source.ts'
import { appendToPointer, isMap, type Json, type JsonMap, listOf, mapOf, textOf } from '../documents/json-pointer.ts'
import { type ContractOperation, listOperations } from '../documents/operations.ts'
import { walkInlineSchemas, walkSchema } from '../documents/schema-walk.ts'

/** Schemas have only allowed keywords and a description, and a document uses each of them. */
export function checkSchemas(
  source: ContractSource,
  used: ReadonlySet<string>,
  documents: Readonly<Record<string, JsonMap>>,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const known = new Set<string>(config.schema_keywords)
  const check = (file: string) => (schema: Json, pointer: string) => {
    if (!isMap(schema) || '$ref' in schema) return
    for (const keyword of Object.keys(schema)) {
      if (!known.has(keyword))
        problems.push({ file, pointer: appendToPointer(pointer, keyword), message: 'is not an allowed keyword' })
    }
  }
  for (const [name, { file, schema }] of source.schemas) {
    const pointer = appendToPointer('', name)
    walkSchema(schema, pointer, check(file))
    if (!textOf(mapOf(schema).description)) problems.push({ file, pointer, message: 'has no description' })
    if (!used.has(name)) problems.push({ file, pointer, message: 'is used by neither document' })
  }
  for (const [file, document] of Object.entries(documents)) walkInlineSchemas(document, check(file))
}

/** Operations have markers, one tag of the root, texts and unique ids. A wildcard is the last path parameter. */
export function checkOperations(
  document: JsonMap,
  file: string,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const tags = new Set(listOf(document.tags).map((tag) => textOf(mapOf(tag).name)))
  const seen = new Set<string>()
  for (const operation of listOperations(document)) {
    const say = (message: string) => problems.push({ file, pointer: operation.pointer, message })
    if (!/^[a-z][a-zA-Z0-9]*$/.test(operation.operationId)) say('has no camelCase operationId')
    if (seen.has(operation.operationId)) say(`has the operationId ${operation.operationId} of another operation`)
    seen.add(operation.operationId)
    if (!tags.has(operation.tag) || listOf(operation.node.tags).length !== 1)
      say('must have exactly one tag of the root')
    checkTexts(operation.node, ['summary', 'description'], say)
    checkMarkers(operation.node, config.markers.operation, ['x-svc-implementation'], say)
    checkOperation(operation, say)
  }
}

function checkOperation(operation: ContractOperation, say: (message: string) => void): void {
  const { access, path, wildcard, parameters, replies, node } = operation
  const open = Array.isArray(node.security) && node.security.length === 0
  if ((access === 'public') !== open) say('has a security that contradicts its access')
  if (wildcard && !path.endsWith(`/{${wildcard}}`)) say('has a wildcard before the end of its path')
  if (replies.length === 0) say('has no responses')
  const declared = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  const named = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]!)
  if (declared.toSorted().join() !== named.toSorted().join())
    say('has path parameters that differ from those in its path')
}

/** Channel operations and messages have markers, tags and texts. A command has the marker of its operation. */
export function checkChannels(
  document: JsonMap,
  file: string,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const operations = listChannelOperations(document)
  for (const { name, node } of operations) {
    const say = (message: string) => problems.push({ file, pointer: appendToPointer('/operations', name), message })
    if (listOf(node.tags).length === 0) say('has no tags')
    checkTexts(node, ['summary', 'description'], say)
    checkMarkers(node, config.markers.message, ['x-svc-implementation'], say)
  }
  const taken = new Set(
    operations.flatMap((one) => [...one.messages, ...one.replies].map((key) => `${one.channel} ${key}`)),
  )
  forEachMessage(document, ({ key, channel, pointer, node }) => {
    const say = (message: string) => problems.push({ file, pointer, message })
    if (listOf(node.tags).length === 0) say('has no tags')
    if (!taken.has(`${channel} ${key}`)) say('belongs to no operation')
    checkTexts(node, ['name', 'title'], say)
    checkMarkers(node, config.markers.message, ['x-svc-implementation'], say)
  })
  for (const { commands } of listChannels(document)) {
    for (const message of commands) checkCommand(message, operations, file, config, problems)
  }
}

function checkCommand(
  { key, channel, pointer, implementation, schema, node }: ChannelMessage,
  operations: readonly ChannelOperation[],
  file: string,
  config: CodegenConfig,
  problems: ContractProblem[],
): void {
  const say = (message: string) => problems.push({ file, pointer, message })
  checkMarkers(node, config.markers.message, ['x-svc-kind', 'x-svc-request-id'], say)
  if (schema === null) say('has a payload that is not a reference to a schema')
  if (node['x-svc-kind'] === 'rpc' && node['x-svc-result'] === undefined) say('is an RPC without x-svc-result')
  const own = operations.filter(
    (one) => one.channel === channel && one.action === 'receive' && one.messages.includes(key),
  )
  if (own.length !== 1) say('does not belong to exactly one receiving operation')
  if (own[0] && own[0].node['x-svc-implementation'] !== implementation) say('has a different marker than its operation')
}

function checkTexts(node: JsonMap, keys: readonly string[], say: (message: string) => void): void {
  for (const key of keys) if (!textOf(node[key]).trim()) say(`has no ${key}`)
}

type Markers = Readonly<Record<string, readonly string[] | null>>

function checkMarkers(
  node: JsonMap,
  markers: Markers,
  required: readonly string[],
  say: (message: string) => void,
): void {
  for (const key of required) if (node[key] === undefined) say(`has no ${key}`)
  for (const [key, value] of Object.entries(node)) {
    if (!key.startsWith('x-svc-')) continue
    const allowed = markers[key]
    if (allowed === undefined) say(`has ${key}, which is not an allowed marker`)
    else if (allowed !== null && !(allowed.length === 0 ? value === true : allowed.includes(textOf(value))))
      say(`has ${key}: ${JSON.stringify(value)}`)
  }
}
