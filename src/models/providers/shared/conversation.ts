// Converts a conversation from OpenAI's form for vendors with protocols of their own: separate instructions and alternating turns. Nothing is
// dropped: unsupported content is refused.
import type { ChatMessage } from '../../../../generated/types.ts'
import { type InlineMedia, parseInlineMedia } from './inline-media.ts'
import { createUnsupportedError } from './unsupported-error.ts'

export interface ToolCallItem {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

export interface ToolResultItem {
  readonly type: 'result'
  /** The id of the call. */
  readonly id: string
  /** The name of the called tool. */
  readonly name: string
  readonly text: string
}

export type ConversationItem =
  | { readonly type: 'text'; readonly text: string }
  | InlineMedia
  | ToolCallItem
  | ToolResultItem

export interface ConversationTurn {
  readonly role: 'user' | 'assistant'
  /** At least one item. */
  readonly items: ConversationItem[]
}

export interface Conversation {
  /** The instructions in order, from anywhere in the conversation. */
  readonly system: readonly string[]
  readonly turns: readonly ConversationTurn[]
}

type MessageOfRole<Role> = Extract<ChatMessage, { role: Role }>

/** The key for arguments that are no JSON object: its value is the model's text. */
export const INVALID_JSON_KEY = 'INVALID_JSON'

/** In one conversation: all of it is converted in one go. */
const MAX_CALLS = 10_000
const MAX_PARTS = 50_000
const describeTooMany = (most: number, what: string) =>
  `takes no more than ${most.toLocaleString('en')} ${what} in a conversation`
/** In characters, of all calls of a conversation: they are parsed and written in one go. Few models have a longer context. */
const MAX_ARGUMENTS_LENGTH = 750_000
// A function, since the first formatting of a number in a locale is slow.
const describeTooLongArguments = () =>
  `takes no more than ${MAX_ARGUMENTS_LENGTH.toLocaleString('en')} characters of arguments in a conversation`

/** @throws ProviderError `unsupported` with the field that the provider does not take */
export function parseConversation(messages: readonly ChatMessage[], provider: string): Conversation {
  const reader = new ConversationReader(provider)
  for (const [at, message] of messages.entries()) reader.read(message, `messages[${at}]`)
  if (reader.turns.length === 0) {
    const reason = 'takes no conversation without a message of the user or the assistant'
    throw createUnsupportedError(provider, 'messages', reason)
  }
  return { system: reader.system, turns: reader.turns }
}

export function listCalledTools({ turns }: Conversation): string[] {
  return turns.flatMap(({ items }) => items.flatMap((item) => (item.type === 'call' ? [item.name] : [])))
}

class ConversationReader {
  readonly system: string[] = []
  readonly turns: ConversationTurn[] = []
  readonly #provider: string
  readonly #toolNamesByCallId = new Map<string, string>()
  #callCount = 0
  #partCount = 0
  /** Characters of arguments so far. */
  #argumentsLength = 0

  constructor(provider: string) {
    this.#provider = provider
  }

  read(message: ChatMessage, place: string): void {
    if (message.role !== 'tool' && message.role !== 'function' && message.name != null)
      throw createUnsupportedError(this.#provider, `${place}.name`, 'takes no `name` of a message author')
    if (Array.isArray(message.content)) this.#partCount += message.content.length
    if (this.#partCount > MAX_PARTS)
      throw createUnsupportedError(this.#provider, `${place}.content`, describeTooMany(MAX_PARTS, 'parts'))
    const readers: { readonly [role: string]: () => void } = {
      system: () => this.#addInstructions(message as MessageOfRole<'system'>),
      developer: () => this.#addInstructions(message as MessageOfRole<'developer'>),
      user: () => this.#addItems('user', this.#readUserItems(message as MessageOfRole<'user'>, place)),
      assistant: () =>
        this.#addItems('assistant', this.#readAssistantItems(message as MessageOfRole<'assistant'>, place)),
      tool: () => this.#addItems('user', [this.#readToolResult(message as MessageOfRole<'tool'>, place)]),
    }
    const read = Object.hasOwn(readers, message.role) ? readers[message.role]! : null
    if (!read)
      throw createUnsupportedError(this.#provider, `${place}.role`, `takes no messages of the role "${message.role}"`)
    read()
  }

  #addInstructions({ content }: { content: MessageOfRole<'tool'>['content'] }): void {
    this.system.push(...readTexts(content))
  }

  #readUserItems({ content }: MessageOfRole<'user'>, place: string): ConversationItem[] {
    if (typeof content === 'string') return toTextItems(content)
    return content.flatMap((part, at): ConversationItem[] => {
      if (part.type === 'text') return toTextItems(part.text)
      return [parseInlineMedia(part, `${place}.content[${at}]`, this.#provider)]
    })
  }

  #readAssistantItems(message: MessageOfRole<'assistant'>, place: string): ConversationItem[] {
    for (const field of ['audio', 'function_call'] as const)
      if (message[field] != null)
        throw createUnsupportedError(this.#provider, `${place}.${field}`, 'does not take this field in a message')
    const { content, refusal, tool_calls } = message
    const texts = typeof content === 'string' ? [content] : (content ?? []).map((part) => readSpokenText(part))
    const calls = (tool_calls ?? []).map((call, at) => this.#readToolCall(call, `${place}.tool_calls[${at}]`))
    return [...texts.flatMap(toTextItems), ...toTextItems(refusal ?? ''), ...calls]
  }

  #readToolCall(call: NonNullable<MessageOfRole<'assistant'>['tool_calls']>[number], place: string): ToolCallItem {
    if (call.type !== 'function')
      throw createUnsupportedError(this.#provider, place, 'takes only tool calls of the type "function"')
    const { name, arguments: written } = call.function
    if (++this.#callCount > MAX_CALLS)
      throw createUnsupportedError(this.#provider, place, describeTooMany(MAX_CALLS, 'calls'))
    this.#argumentsLength += written.length
    if (this.#argumentsLength > MAX_ARGUMENTS_LENGTH)
      throw createUnsupportedError(this.#provider, `${place}.function.arguments`, describeTooLongArguments())
    this.#toolNamesByCallId.set(call.id, name)
    return { type: 'call', id: call.id, name, input: parseArguments(written) }
  }

  #readToolResult({ content, tool_call_id: id }: MessageOfRole<'tool'>, place: string): ToolResultItem {
    const name = this.#toolNamesByCallId.get(id)
    if (name === undefined)
      throw createUnsupportedError(this.#provider, `${place}.tool_call_id`, 'takes no tool result without its call')
    return { type: 'result', id, name, text: readTexts(content).join('\n') }
  }

  /** Turns alternate: consecutive messages of one side become one turn. */
  #addItems(role: ConversationTurn['role'], items: readonly ConversationItem[]): void {
    const last = this.turns.at(-1)
    if (last?.role === role) last.items.push(...items)
    else if (items.length > 0) this.turns.push({ role, items: [...items] })
  }
}

/** Vendors refuse empty texts. */
function toTextItems(text: string): ConversationItem[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function readTexts(content: MessageOfRole<'tool'>['content']): string[] {
  const all = typeof content === 'string' ? [content] : content.map(({ text }) => text)
  return all.filter((text) => text !== '')
}

function readSpokenText(part: { type: 'text'; text: string } | { type: 'refusal'; refusal: string }): string {
  return part.type === 'text' ? part.text : part.refusal
}

/** The arguments of a call as an object. Models may write something else. */
function parseArguments(written: string): Record<string, unknown> {
  if (written.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(written)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>
  } catch {
    // Invalid JSON is handled below.
  }
  return { [INVALID_JSON_KEY]: written }
}
