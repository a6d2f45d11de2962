// `validators-out.js`: what tests and conformance suites validate, all that the service sends and every named schema.
import { type Channel, channelsOf } from './channels.ts'
import { compileValidators } from './compile-validators.ts'
import type { Contract } from './contract.ts'
import { VALIDATE_TYPES } from './emit-validators.ts'
import { isJson, type Operation, operationsOf, type Reply } from './operations.ts'
import { property, union } from './text.ts'
import { type Json, schemaName, schemaReference } from './tree.ts'

export async function emitValidatorsOut({
  openapi,
  asyncapi,
  schemas,
}: Contract): Promise<{ js: string; dts: string }> {
  const operations = operationsOf(openapi)
  const channels = channelsOf(asyncapi)
  const named = Object.keys(schemas)
  const inline = new Map<string, Json>()
  const source = entry(operations, channels, named, inline)
  const compiled = {
    ...Object.fromEntries(named.map((name) => [name, schemaReference(name)])),
    ...Object.fromEntries(inline),
  }
  const js = await compileValidators(
    source,
    { schemas: { coerce: false, defaults: false, schemas: compiled } },
    schemas,
  )
  return { js, dts: declarations(operations, channels, named) }
}

/** Replies whose schema is a named one share its validator; the others are compiled by themselves. */
function entry(
  operations: readonly Operation[],
  channels: readonly Channel[],
  named: readonly string[],
  inline: Map<string, Json>,
): string {
  const responses = operations.map((operation) => {
    const statuses = operation.replies.map((reply) => `${reply.status}: ${replyValidator(operation, reply, inline)}`)
    return `  ${operation.operationId}: { ${statuses.join(', ')} },\n`
  })
  const frames = channels.map(({ name, frames }) => {
    const entries = frames.map(({ key, schema }) => `    ${property(key)}: schemas.${schema},\n`)
    return `  ${property(name)}: {\n${entries.join('')}  },\n`
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

function replyValidator({ operationId }: Operation, { status, content }: Reply, inline: Map<string, Json>): string {
  const json = content.find(({ media_type }) => isJson(media_type))
  if (!json) return 'null'
  const name = schemaName(json.schema)
  if (name !== null) return `schemas.${name}`
  const own = `${operationId}_${status}`
  inline.set(own, json.schema)
  return `schemas.${own}`
}

function declarations(
  operations: readonly Operation[],
  channels: readonly Channel[],
  named: readonly string[],
): string {
  const frames = channels.map(({ name, frames }) => {
    return `  readonly ${property(name)}: Readonly<Record<${union(frames.map(({ key }) => key))}, Validate>>\n`
  })
  return `${VALIDATE_TYPES}
/** JSON bodies by status: undefined is a status that is not declared, null one without a JSON body. */
export type StatusValidators = Readonly<Record<number, Validate | null>>

/** Every named schema. */
export const schemaValidators: Readonly<Record<${union(named)}, Validate>>

/** The JSON bodies of replies, by operation and status. */
export const responseValidators: Readonly<Record<${union(operations.map(({ operationId }) => operationId))}, StatusValidators>>

/** The frames that the server sends, by channel and message. */
export const frameValidators: {
${frames.join('')}}
`
}
