// The channels of the bundled AsyncAPI document: commands to the server and frames from it.
import {
  appendToPointer,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  parsePointer,
  readReference,
  readSchemaName,
  textOf,
} from './json-pointer.ts'

export interface ChannelMessage {
  /** The key in the channel. */
  key: string
  channel: string
  pointer: string
  /** The component schema of the payload. Null where the payload is written in place. */
  schema: string | null
  implementation: string
  preview: boolean
  node: JsonMap
}

export interface ChannelCommand extends ChannelMessage {
  kind: string
  request_id: string
  switch: string | null
  scope: string
  /** The schema of the result. Null for a command without a result. */
  result: string | null
}

export interface ContractChannel {
  name: string
  commands: readonly ChannelCommand[]
  /** Messages from the server, in the order of the channel. */
  frames: readonly ChannelMessage[]
}

export interface ChannelOperation {
  name: string
  action: string
  channel: string
  messages: readonly string[]
  replies: readonly string[]
  node: JsonMap
}

export function listChannels(document: JsonMap): ContractChannel[] {
  const operations = listChannelOperations(document)
  return Object.entries(mapOf(document.channels)).map(([name, channel]) => {
    const own = operations.filter((operation) => operation.channel === name)
    const sent = new Set(own.flatMap(({ action, messages, replies }) => (action === 'send' ? messages : replies)))
    const messages = Object.entries(mapOf(mapOf(channel).messages)).map(([key, node]) =>
      toMessage(name, key, mapOf(node)),
    )
    return {
      name,
      commands: messages.filter(({ node }) => node['x-svc-kind'] !== undefined).map(toCommand),
      frames: messages.filter(({ key }) => sent.has(key)),
    }
  })
}

export function forEachMessage(document: JsonMap, visit: (message: ChannelMessage) => void): void {
  for (const [channel, node] of Object.entries(mapOf(document.channels))) {
    for (const [key, message] of Object.entries(mapOf(mapOf(node).messages)))
      visit(toMessage(channel, key, mapOf(message)))
  }
}

export function listChannelOperations(document: JsonMap): ChannelOperation[] {
  return Object.entries(mapOf(document.operations)).map(([name, value]) => {
    const node = mapOf(value)
    return {
      name,
      action: textOf(node.action),
      channel: parsePointer((readReference(node.channel) ?? '#').slice(1))[1] ?? '',
      messages: listMessageKeys(node.messages),
      replies: listMessageKeys(mapOf(node.reply).messages),
      node,
    }
  })
}

function listMessageKeys(references: Json | undefined): string[] {
  return listOf(references).map((reference) => parsePointer((readReference(reference) ?? '#').slice(1))[3] ?? '')
}

function toMessage(channel: string, key: string, node: JsonMap): ChannelMessage {
  return {
    key,
    channel,
    pointer: appendToPointer(`${appendToPointer('/channels', channel)}/messages`, key),
    schema: readSchemaName(node.payload),
    implementation: textOf(node['x-svc-implementation']),
    preview: node['x-svc-preview'] === true,
    node,
  }
}

function toCommand(message: ChannelMessage): ChannelCommand {
  const { node } = message
  return {
    ...message,
    kind: textOf(node['x-svc-kind']),
    request_id: textOf(node['x-svc-request-id']) || 'optional',
    switch: textOf(node['x-svc-switch']) || null,
    scope: textOf(node['x-svc-scope']) || 'write',
    result: readSchemaName(node['x-svc-result']),
  }
}
