// Emits `validators-out.js` for tests and conformance suites. It validates everything that the service sends, and all named schemas.
import { type ContractChannel, listChannels } from '../documents/channels.ts'
import type { Contract } from '../documents/contract.ts'
import { createSchemaReference, type Json, readSchemaName } from '../documents/json-pointer.ts'
import { type ContractOperation, type DeclaredReply, isJsonMediaType, listOperations } from '../documents/operations.ts'
import { VALIDATE_TYPES } from './input-validators.ts'
import { quotePropertyName, toUnionType } from './typescript-source.ts'
import { compileValidators } from './validator-compiler.ts'

export async function emitOutputValidators({
  openapi,
  asyncapi,
  schemas,
}: Contract): Promise<{ js: string; dts: string }> {
  const operations = listOperations(openapi)
  const channels = listChannels(asyncapi)
  const named = Object.keys(schemas)
  const inline = new Map<string, Json>()
  const source = generateEntry(operations, channels, named, inline)
  const compiled = {
    ...Object.fromEntries(named.map((name) => [name, createSchemaReference(name)])),
    ...Object.fromEntries(inline),
  }
  const js = await compileValidators(
    source,
    { schemas: { coerce: false, defaults: false, schemas: compiled } },
    schemas,
  )
  return { js, dts: generateDeclarations(operations, channels, named) }
}

/** Replies with a named schema share its validator. Other replies have their own. */
function generateEntry(
  operations: readonly ContractOperation[],
  channels: readonly ContractChannel[],
  named: readonly string[],
  inline: Map<string, Json>,
): string {
  const responses = operations.map((operation) => {
    const statuses = operation.replies.map(
      (reply) => `${reply.status}: ${generateReplyValidator(operation, reply, inline)}`,
    )
    return `  ${operation.operationId}: { ${statuses.join(', ')} },\n`
  })
  const frames = channels.map(({ name, frames }) => {
    const entries = frames.map(({ key, schema }) => `    ${quotePropertyName(key)}: schemas.${schema},\n`)
    return `  ${quotePropertyName(name)}: {\n${entries.join('')}  },\n`
  })
  return `import * as schemas from 'virtual:schemas'
export const schemaValidators = {
${named.map((name) => `  ${name}: schemas.${name},\n`).join('')}}
export const responseValidators = {
${responses.join('')}}
export const frameValidators = {
${frames.join('')}}
`
}

function generateReplyValidator(
  { operationId }: ContractOperation,
  { status, content }: DeclaredReply,
  inline: Map<string, Json>,
): string {
  const json = content.find(({ media_type }) => isJsonMediaType(media_type))
  if (!json) return 'null'
  const name = readSchemaName(json.schema)
  if (name !== null) return `schemas.${name}`
  const own = `${operationId}_${status}`
  inline.set(own, json.schema)
  return `schemas.${own}`
}

function generateDeclarations(
  operations: readonly ContractOperation[],
  channels: readonly ContractChannel[],
  named: readonly string[],
): string {
  const frames = channels.map(({ name, frames }) => {
    return `  readonly ${quotePropertyName(name)}: Readonly<Record<${toUnionType(frames.map(({ key }) => key))}, Validate>>\n`
  })
  return `${VALIDATE_TYPES}
/** The validators of JSON bodies by status. Undefined: the status is not declared. Null: the status has no JSON body. */
export type StatusValidators = Readonly<Record<number, Validate | null>>

/** Every named schema. */
export const schemaValidators: Readonly<Record<${toUnionType(named)}, Validate>>

/** The JSON bodies of replies, by operation and status. */
export const responseValidators: Readonly<Record<${toUnionType(operations.map(({ operationId }) => operationId))}, StatusValidators>>

/** The frames that the server sends, by channel and message. */
export const frameValidators: {
${frames.join('')}}
`
}
