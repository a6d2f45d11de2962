// `messages.ts`: manifests of commands and frames by channel, and types that a table of command handlers must satisfy.
import { type Channel, type Command, channelsOf, type Message } from './channels.ts'
import type { Contract } from './contract.ts'
import { literal, pascal, property, quoted, union } from './text.ts'
import { isMap, type Json, type JsonMap, lookUp, mapOf, schemaName } from './tree.ts'

export function emitMessages({ asyncapi, schemas }: Contract): string {
  const channels = channelsOf(asyncapi)
  return [HEAD, ...channels.map((channel) => channelTypes(channel, schemas)), manifests(channels)].join('\n')
}

const HEAD = `import type { components } from './types.ts'

type Schemas = components['schemas']

export interface CommandInfo<Name extends string = string> {
  readonly command: Name
  readonly channel: string
  /** How it is answered: job commands by acknowledgements and frames, \`rpc\` by exactly one reply. */
  readonly kind: 'job' | 'rpc' | 'chat' | 'download' | 'connection'
  readonly request_id: 'required' | 'optional'
  readonly implementation: 'implemented' | 'planned' | 'partial'
  /** Served only where the preview of the job operations is switched on. */
  readonly preview: boolean
  /** What switches it off, or null. */
  readonly switch: 'sdk_lifecycle' | null
  /** What a token must be good for. */
  readonly scope: 'read' | 'write'
}

export type CommandHandler<Command, C> = (command: Command, context: C) => void | Promise<void>
/** What it is given last aborts when the answer is due. */
export type RpcHandler<Data, Result, C> = (data: Data, context: C, late: AbortSignal) => Result | Promise<Result>

export interface FrameInfo {
  readonly message: string
  readonly schema: string
  readonly implementation: 'implemented' | 'planned' | 'partial'
  /** Sent only where the preview of the job operations is switched on. */
  readonly preview: boolean
}
`

function channelTypes(channel: Channel, schemas: JsonMap): string {
  const prefix = pascal(channel.name)
  const { commands, frames } = channel
  const rpcs = commands.filter(({ kind, result }) => kind === 'rpc' && result !== null)
  const typed = (entries: readonly string[]) => entries.map((entry) => `  ${entry}\n`).join('')
  return `/** The commands of \`${channel.name}\`, whole. */
export interface ${prefix}Commands {
${typed(commands.map(({ key, schema }) => `${property(key)}: ${schemaType(schema)}`))}}

/** Their data; an empty object where a command takes none. */
export interface ${prefix}CommandData {
${typed(commands.map((command) => `${property(command.key)}: ${dataType(command, schemas)}`))}}

/** What its RPC commands are answered with. */
export interface ${prefix}RpcResults {
${typed(rpcs.map(({ key, result }) => `${property(key)}: ${schemaType(result)}`))}}

export type ${prefix}Command = keyof ${prefix}Commands
export type ${prefix}RpcCommand = keyof ${prefix}RpcResults

${handlersType(prefix, commands.filter(isServed))}/** The frames that the server sends, by message. */
export interface ${prefix}Frames {
${typed(frames.map(({ key, schema }) => `${property(key)}: ${schemaType(schema)}`))}}

export type ${prefix}Frame = ${prefix}Frames[keyof ${prefix}Frames]
`
}

function handlersType(prefix: string, served: readonly Command[]): string {
  if (served.length === 0) return ''
  const members = served.map((command) => `  ${handlerType(prefix, command)}\n`)
  return `/** The commands that are implemented, or served in the preview: an RPC handler is given the data and gives the result, another is given the whole command. */
export interface ${prefix}CommandHandlers<C> {
${members.join('')}}

`
}

function isServed({ implementation, preview }: Message): boolean {
  return implementation === 'implemented' || preview
}

function schemaType(name: string | null): string {
  return name === null ? 'unknown' : `Schemas[${quoted(name)}]`
}

function handlerType(prefix: string, { key, kind }: Command): string {
  const of = (types: string) => `${prefix}${types}[${quoted(key)}]`
  if (kind !== 'rpc') return `${property(key)}: CommandHandler<${of('Commands')}, C>`
  return `${property(key)}: RpcHandler<${of('CommandData')}, ${of('RpcResults')}, C>`
}

/** The type of a command's `data`, by its schema's name where it has one. */
function dataType({ schema }: Command, schemas: JsonMap): string {
  if (schema === null) return 'unknown'
  const data = lookUp(schemas[schema], '/properties/data')
  if (data === undefined) return 'Record<string, never>'
  const name = schemaName(data) ?? onlyVariant(data)
  return name === null ? `NonNullable<Schemas[${quoted(schema)}]['data']>` : schemaType(name)
}

/** The schema of `oneOf: [it, null]`. */
function onlyVariant(schema: Json): string | null {
  const variants = mapOf(schema).oneOf ?? mapOf(schema).allOf
  if (!Array.isArray(variants)) return null
  const others = variants.filter((variant) => !(isMap(variant) && variant.type === 'null'))
  return others.length === 1 ? schemaName(others[0]) : null
}

function manifests(channels: readonly Channel[]): string {
  const commands = channels.map(({ name, commands }) => {
    const entries = commands.map((command) => {
      const { key, channel, kind, request_id, implementation, preview, scope } = command
      const info = { command: key, channel, kind, request_id, implementation, preview, scope, switch: command.switch }
      return `    ${property(key)}: ${literal(info)},\n`
    })
    return `  ${property(name)}: {\n${entries.join('')}  },\n`
  })
  const frames = channels.map(({ name, frames }) => {
    const entries = frames.map(({ key, schema, implementation, preview }) => {
      return `    ${property(key)}: ${literal({ message: key, schema, implementation, preview })},\n`
    })
    return `  ${property(name)}: {\n${entries.join('')}  },\n`
  })
  const commandTypes = channels.map(({ name }) => {
    const type = `${pascal(name)}Command`
    return `  readonly ${property(name)}: { readonly [Name in ${type}]: CommandInfo<Name> }\n`
  })
  const frameTypes = channels.map(({ name }) => {
    return `  readonly ${property(name)}: { readonly [Name in keyof ${pascal(name)}Frames]: FrameInfo }\n`
  })
  return `export type ChannelName = ${union(channels.map(({ name }) => name))}

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
