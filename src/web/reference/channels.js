// The AsyncAPI document as the page shows it: channels with groups of messages, commands first, and who answers whom.
import { referredName } from './source.js'

/** @typedef {import('./message.js').Message} Message */
/** @typedef {{ title: string, description: string | null, messages: Message[] }} Group */
/** @typedef {{ key: string, address: string, channel: any, groups: Group[] }} Channel */

/** @type {Record<string, string>} */
const KINDS = {
  job: 'Job commands',
  rpc: 'RPC commands',
  chat: 'Chat commands',
  connection: 'Connection commands',
}
const OTHERS = 'Other messages of the client'

/**
 * @param {any} source
 * @param {(value: any) => any} resolve
 * @returns {Channel[]}
 */
export function channelsOf(source, resolve) {
  return Object.entries(source.channels).map(([key, reference]) => {
    const channel = resolve(reference)
    const operations = Object.values(source.operations)
      .map((operation) => resolve(operation))
      .filter((operation) => referredName(operation.channel) === key)
    const messages = messagesOf(key, channel, operations, resolve)
    return { key, address: channel.address, channel, groups: groupsOf(messages, operations) }
  })
}

/**
 * @param {string} channel
 * @param {any} about
 * @param {any[]} operations
 * @param {(value: any) => any} resolve
 * @returns {Message[]}
 */
function messagesOf(channel, about, operations, resolve) {
  const replies = new Map(
    operations.flatMap((operation) => keysOf(operation).map((key) => [key, keysOf(operation.reply)])),
  )
  return Object.entries(about.messages).map(([key, reference]) => {
    const operation = operations.find((candidate) => keysOf(candidate).includes(key)) ?? null
    const action = operation?.action ?? 'send'
    const answers = [...replies].filter(([, keys]) => keys.includes(key)).map(([command]) => command)
    const own = action === 'receive' && keysOf(operation).length === 1
    return {
      channel,
      key,
      message: resolve(reference),
      operation: own ? operation : null,
      action,
      replies: own ? (replies.get(key) ?? []) : [],
      // An error that can answer everything would only list everything.
      answers: answers.length > 12 ? [] : answers,
    }
  })
}

/** @param {any} operation */
function keysOf(operation) {
  return /** @type {string[]} */ ((operation?.messages ?? []).map(referredName))
}

/**
 * @param {Message[]} messages
 * @param {any[]} operations
 * @returns {Group[]}
 */
function groupsOf(messages, operations) {
  /** @type {Map<string, Group>} */
  const groups = new Map()
  for (const title of [...Object.values(KINDS), OTHERS]) groups.set(title, { title, description: null, messages: [] })
  for (const { summary, description, action } of operations) {
    if (action === 'send') groups.set(summary, { title: summary, description: description ?? null, messages: [] })
  }
  for (const message of messages) groups.get(groupTitle(message, operations))?.messages.push(message)
  return [...groups.values()].filter((group) => group.messages.length > 0)
}

/**
 * @param {Message} message
 * @param {any[]} operations
 */
function groupTitle({ key, message, action }, operations) {
  if (action === 'receive') return KINDS[message['x-svc-kind']] ?? OTHERS
  const sender = operations.find((operation) => operation.action === 'send' && keysOf(operation).includes(key))
  return sender?.summary ?? OTHERS
}
