// The implemented parts of both documents, without planned operations and what only these use.
import { createContractAjv } from '../documents/ajv-setup.ts'
import {
  followPointer,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readReference,
  readSchemaName,
} from '../documents/json-pointer.ts'

const HTTP_METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])
const isPlanned = (node: Json | undefined) => mapOf(node)['x-svc-implementation'] === 'planned'

/** Returns the OpenAPI document without planned operations. */
export function createImplementedOpenapi(full: JsonMap): JsonMap {
  const document = structuredClone(full)
  const paths = mapOf(document.paths)
  for (const [path, item] of Object.entries(paths)) {
    for (const method of Object.keys(mapOf(item))) {
      if (HTTP_METHODS.has(method) && isPlanned(mapOf(item)[method])) delete mapOf(item)[method]
    }
    if (!Object.keys(mapOf(item)).some((key) => HTTP_METHODS.has(key))) delete paths[path]
  }
  const used = new Set<Json>()
  for (const item of Object.values(paths)) {
    for (const operation of Object.values(mapOf(item))) for (const tag of listOf(mapOf(operation).tags)) used.add(tag)
  }
  document.tags = listOf(document.tags).filter((tag) => used.has(mapOf(tag).name ?? ''))
  return removeUnreached(document)
}

/** Returns the AsyncAPI document without planned operations and messages. Partial envelopes keep their implemented variants. */
export function createImplementedAsyncapi(full: JsonMap): JsonMap {
  const document = structuredClone(full)
  dropPlannedVariants(document)
  for (const channel of Object.values(mapOf(document.channels))) {
    const messages = mapOf(mapOf(channel).messages)
    for (const [key, message] of Object.entries(messages)) if (isPlanned(message)) delete messages[key]
  }
  dropPlannedOperations(document)
  const channels = mapOf(document.channels)
  for (const [name, channel] of Object.entries(channels)) {
    if (Object.keys(mapOf(mapOf(channel).messages)).length === 0) delete channels[name]
  }
  keepUsedTags(document)
  removeUnreached(document)
  keepValidExamples(document)
  return document
}

/** Removes variants of partial envelopes that only planned messages use. An envelope without variants is planned itself. */
function dropPlannedVariants(document: JsonMap): void {
  const messages = Object.values(mapOf(document.channels)).flatMap((one) => Object.values(mapOf(mapOf(one).messages)))
  const served = new Set(messages.filter((one) => !isPlanned(one)).map((one) => readSchemaName(mapOf(one).payload)))
  const schemas = mapOf(mapOf(document.components).schemas)
  for (const message of messages.map(mapOf)) {
    if (message['x-svc-implementation'] !== 'partial') continue
    const envelope = mapOf(schemas[readSchemaName(message.payload) ?? ''])
    const variants = listOf(envelope.oneOf).filter((variant) => served.has(readSchemaName(variant)))
    envelope.oneOf = variants
    if (variants.length === 0) message['x-svc-implementation'] = 'planned'
  }
}

function dropPlannedOperations(document: JsonMap): void {
  const operations = mapOf(document.operations)
  const there = (reference: Json) => followPointer(document, (readReference(reference) ?? '').slice(1)) !== undefined
  for (const [name, value] of Object.entries(operations)) {
    const operation = mapOf(value)
    const reply = mapOf(operation.reply)
    operation.messages = listOf(operation.messages).filter(there)
    if (operation.reply !== undefined) reply.messages = listOf(reply.messages).filter(there)
    if (listOf(reply.messages).length === 0) delete operation.reply
    if (isPlanned(operation) || listOf(operation.messages).length === 0) delete operations[name]
  }
}

function keepUsedTags(document: JsonMap): void {
  const { info, components: _components, ...rest } = document
  const used = collectReferences(rest, new Set())
  mapOf(info).tags = listOf(mapOf(info).tags).filter((tag) => used.has(readReference(tag) ?? ''))
}

/** Removes examples of removed variants. */
function keepValidExamples(document: JsonMap): void {
  const ajv = createContractAjv(mapOf(mapOf(document.components).schemas))
  for (const channel of Object.values(mapOf(document.channels))) {
    for (const message of Object.values(mapOf(mapOf(channel).messages)).map(mapOf)) {
      if (message['x-svc-implementation'] !== 'partial') continue
      const valid = ajv.compile(mapOf(message.payload))
      message.examples = listOf(message.examples).filter((example) => valid(mapOf(example).payload))
    }
  }
}

/** Removes components that no remaining part uses. */
function removeUnreached(document: JsonMap): JsonMap {
  const { components, ...rest } = document
  const reached = collectReferences(rest, new Set())
  for (const name of listSecurityNames(document)) reached.add(`#/components/securitySchemes/${name}`)
  // The set grows during the walk.
  for (const reference of reached) collectReferences(followPointer(document, reference.slice(1)) ?? null, reached)
  for (const [kind, map] of Object.entries(mapOf(components))) {
    for (const name of Object.keys(mapOf(map)))
      if (!reached.has(`#/components/${kind}/${name}`)) delete mapOf(map)[name]
    if (Object.keys(mapOf(map)).length === 0) delete mapOf(components)[kind]
  }
  return document
}

/** OpenAPI names security schemes instead of referring to them. */
function listSecurityNames(document: JsonMap): string[] {
  const operations = Object.values(mapOf(document.paths)).flatMap((item) => Object.values(mapOf(item)))
  const lists = [document.security, ...operations.map((operation) => mapOf(operation).security)]
  return lists.flatMap((list) => listOf(list)).flatMap((requirement) => Object.keys(mapOf(requirement)))
}

function collectReferences(value: Json, found: Set<string>): Set<string> {
  const reference = readReference(value)
  if (reference !== null) found.add(reference)
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) collectReferences(member, found)
  return found
}
