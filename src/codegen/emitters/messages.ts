// Emits `messages.ts`: manifests of commands and frames by channel, and the types of a table of command handlers.
import { type ChannelCommand, type ChannelMessage, type ContractChannel, listChannels } from '../documents/channels.ts'
import type { Contract } from '../documents/contract.ts'
import { followPointer, isMap, type Json, type JsonMap, mapOf, readSchemaName } from '../documents/json-pointer.ts'
import { quotePropertyName, quoteText, toLiteral, toPascalCase, toUnionType } from './typescript-source.ts'

export function emitMessages({ asyncapi, schemas }: Contract): string {
  const channels = listChannels(asyncapi)
  return [HEADER_TYPES, ...channels.map((channel) => emitChannelTypes(channel, schemas)), emitManifests(channels)].join(
    '\n',
  )
}

const HEADER_TYPES = `import type { components } from './types.ts'

type Schemas = components['schemas']

export interface CommandInfo<Name extends string = string> {
  readonly command: Name
  readonly channel: string
  /** The kind of its answers: job commands get acknowledgements and frames, \`rpc\` exactly one reply. */
  readonly kind: 'job' | 'rpc' | 'chat' | 'download' | 'connection'
  readonly request_id: 'required' | 'optional'
  readonly implementation: 'implemented' | 'planned' | 'partial'
  /** Served only where the preview of the job operations is switched on. */
  readonly preview: boolean
  /** The switch that disables it, or null. */
  readonly switch: 'sdk_lifecycle' | null
  /** The scope that a token needs. */
  readonly scope: 'read' | 'write'
}

export type CommandHandler<Command, C> = (command: Command, context: C) => void | Promise<void>
/** \`late\` aborts when the answer is due. */
export type RpcHandler<Data, Result, C> = (data: Data, context: C, late: AbortSignal) => Result | Promise<Result>

export interface FrameInfo {
  readonly message: string
  readonly schema: string
  readonly implementation: 'implemented' | 'planned' | 'partial'
  /** Sent only where the preview of the job operations is switched on. */
  readonly preview: boolean
}
`

function emitChannelTypes(channel: ContractChannel, schemas: JsonMap): string {
  const prefix = toPascalCase(channel.name)
  const { commands, frames } = channel
  const rpcs = commands.filter(({ kind, result }) => kind === 'rpc' && result !== null)
  const typed = (entries: readonly string[]) => entries.map((entry) => `  ${entry}\n`).join('')
  return `/** The commands of \`${channel.name}\`, whole. */
export interface ${prefix}Commands {
${typed(commands.map(({ key, schema }) => `${quotePropertyName(key)}: ${toSchemaType(schema)}`))}}

/** The data of commands; an empty object for a command without data. */
export interface ${prefix}CommandData {
${typed(commands.map((command) => `${quotePropertyName(command.key)}: ${toDataType(command, schemas)}`))}}

/** The results of RPC commands. */
export interface ${prefix}RpcResults {
${typed(rpcs.map(({ key, result }) => `${quotePropertyName(key)}: ${toSchemaType(result)}`))}}

export type ${prefix}Command = keyof ${prefix}Commands
export type ${prefix}RpcCommand = keyof ${prefix}RpcResults

${emitHandlersType(prefix, commands.filter(isServedMessage))}/** The frames that the server sends, by message. */
export interface ${prefix}Frames {
${typed(frames.map(({ key, schema }) => `${quotePropertyName(key)}: ${toSchemaType(schema)}`))}}

export type ${prefix}Frame = ${prefix}Frames[keyof ${prefix}Frames]
`
}

function emitHandlersType(prefix: string, served: readonly ChannelCommand[]): string {
  if (served.length === 0) return ''
  const members = served.map((command) => `  ${toHandlerType(prefix, command)}\n`)
  return `/** The commands that are implemented, or served in the preview: an RPC handler gets the data and returns the result, other handlers get the whole command. */
export interface ${prefix}CommandHandlers<C> {
${members.join('')}}

`
}

function isServedMessage({ implementation, preview }: ChannelMessage): boolean {
  return implementation === 'implemented' || preview
}

function toSchemaType(name: string | null): string {
  return name === null ? 'unknown' : `Schemas[${quoteText(name)}]`
}

function toHandlerType(prefix: string, { key, kind }: ChannelCommand): string {
  const of = (types: string) => `${prefix}${types}[${quoteText(key)}]`
  if (kind !== 'rpc') return `${quotePropertyName(key)}: CommandHandler<${of('Commands')}, C>`
  return `${quotePropertyName(key)}: RpcHandler<${of('CommandData')}, ${of('RpcResults')}, C>`
}

/** Returns the type of a command's `data`, by its schema's name where it has one. */
function toDataType({ schema }: ChannelCommand, schemas: JsonMap): string {
  if (schema === null) return 'unknown'
  const data = followPointer(schemas[schema], '/properties/data')
  if (data === undefined) return 'Record<string, never>'
  const name = readSchemaName(data) ?? findOnlyVariant(data)
  return name === null ? `NonNullable<Schemas[${quoteText(schema)}]['data']>` : toSchemaType(name)
}

/** Returns the schema of `oneOf: [schema, null]`. */
function findOnlyVariant(schema: Json): string | null {
  const variants = mapOf(schema).oneOf ?? mapOf(schema).allOf
  if (!Array.isArray(variants)) return null
  const others = variants.filter((variant) => !(isMap(variant) && variant.type === 'null'))
  return others.length === 1 ? readSchemaName(others[0]) : null
}

function emitManifests(channels: readonly ContractChannel[]): string {
  const commands = channels.map(({ name, commands }) => {
    const entries = commands.map((command) => {
      const { key, channel, kind, request_id, implementation, preview, scope } = command
      const info = { command: key, channel, kind, request_id, implementation, preview, scope, switch: command.switch }
      return `    ${quotePropertyName(key)}: ${toLiteral(info)},\n`
    })
    return `  ${quotePropertyName(name)}: {\n${entries.join('')}  },\n`
  })
  const frames = channels.map(({ name, frames }) => {
    const entries = frames.map(({ key, schema, implementation, preview }) => {
      return `    ${quotePropertyName(key)}: ${toLiteral({ message: key, schema, implementation, preview })},\n`
    })
    return `  ${quotePropertyName(name)}: {\n${entries.join('')}  },\n`
  })
  const commandTypes = channels.map(({ name }) => {
    const type = `${toPascalCase(name)}Command`
    return `  readonly ${quotePropertyName(name)}: { readonly [Name in ${type}]: CommandInfo<Name> }\n`
  })
  const frameTypes = channels.map(({ name }) => {
    return `  readonly ${quotePropertyName(name)}: { readonly [Name in keyof ${toPascalCase(name)}Frames]: FrameInfo }\n`
  })
  return `export type ChannelName = ${toUnionType(channels.map(({ name }) => name))}

/** Every command, by channel. */
export const commandManifest: {
${commandTypes.join('')}} = {
${commands.join('')}}

/** Every frame, by channel. */
export const frameManifest: {
${frameTypes.join('')}} = {
${frames.join('')}}
`
}
