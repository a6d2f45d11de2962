// The channels of the bundled AsyncAPI document: commands that the server takes, frames that it sends.
import { child, type Json, type JsonMap, listOf, mapOf, referenceOf, schemaName, segments, textOf } from './tree.ts'

export interface Message {
  /** Its key in the channel. */
  key: string
  channel: string
  pointer: string
  /** The component schema of its payload; null where it is written in place. */
  schema: string | null
  implementation: string
  preview: boolean
  node: JsonMap
}

export interface Command extends Message {
  kind: string
  request_id: string
  switch: string | null
  scope: string
  /** The schema of its result, for commands that are answered with one. */
  result: string | null
}

export interface Channel {
  name: string
  commands: readonly Command[]
  /** Messages that the server sends, in the order of the channel. */
  frames: readonly Message[]
}

export interface ChannelOperation {
  name: string
  action: string
  channel: string
  messages: readonly string[]
  replies: readonly string[]
  node: JsonMap
}

export function channelsOf(document: JsonMap): Channel[] {
  const operations = channelOperationsOf(document)
  return Object.entries(mapOf(document.channels)).map(([name, channel]) => {
    const own = operations.filter((operation) => operation.channel === name)
    const sent = new Set(own.flatMap(({ action, messages, replies }) => (action === 'send' ? messages : replies)))
    const messages = Object.entries(mapOf(mapOf(channel).messages)).map(([key, node]) =>
      messageOf(name, key, mapOf(node)),
    )
    return {
      name,
      commands: messages.filter(({ node }) => node['x-svc-kind'] !== undefined).map(commandOf),
      frames: messages.filter(({ key }) => sent.has(key)),
    }
  })
}

/** Visits every message of every channel. */
export function eachMessage(document: JsonMap, visit: (message: Message) => void): void {
  for (const [channel, node] of Object.entries(mapOf(document.channels))) {
    for (const [key, message] of Object.entries(mapOf(mapOf(node).messages)))
      visit(messageOf(channel, key, mapOf(message)))
  }
}

export function channelOperationsOf(document: JsonMap): ChannelOperation[] {
  return Object.entries(mapOf(document.operations)).map(([name, value]) => {
    const node = mapOf(value)
    return {
      name,
      action: textOf(node.action),
      channel: segments((referenceOf(node.channel) ?? '#').slice(1))[1] ?? '',
      messages: messageKeys(node.messages),
      replies: messageKeys(mapOf(node.reply).messages),
      node,
    }
  })
}

function messageKeys(references: Json | undefined): string[] {
  return listOf(references).map((reference) => segments((referenceOf(reference) ?? '#').slice(1))[3] ?? '')
}

function messageOf(channel: string, key: string, node: JsonMap): Message {
  return {
    key,
    channel,
    pointer: child(`${child('/channels', channel)}/messages`, key),
    schema: schemaName(node.payload),
    implementation: textOf(node['x-svc-implementation']),
    preview: node['x-svc-preview'] === true,
    node,
  }
}

function commandOf(message: Message): Command {
  const { node } = message
  return {
    ...message,
    kind: textOf(node['x-svc-kind']),
    request_id: textOf(node['x-svc-request-id']) || 'optional',
    switch: textOf(node['x-svc-switch']) || null,
    scope: textOf(node['x-svc-scope']) || 'write',
    result: schemaName(node['x-svc-result']),
  }
}
