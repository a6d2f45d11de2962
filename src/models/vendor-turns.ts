// A conversation in OpenAI's form as vendors with protocols of their own take it: instructions apart, and turns that alternate. Nothing of it
// is lost; what no such vendor can be told is refused.
import type { ChatMessage } from '../../generated/types.ts'
import { type Media, mediaOf } from './vendor-media.ts'
import { notTaken } from './vendor-refusals.ts'

export interface Call {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

export interface Result {
  readonly type: 'result'
  /** Of the call that it answers. */
  readonly id: string
  /** Of the tool that was called. */
  readonly name: string
  readonly text: string
}

export type Item = { readonly type: 'text'; readonly text: string } | Media | Call | Result

export interface Turn {
  readonly role: 'user' | 'assistant'
  /** At least one. */
  readonly items: Item[]
}

export interface Conversation {
  /** In order, wherever they stood. */
  readonly system: readonly string[]
  readonly turns: readonly Turn[]
}

type Message<Role> = Extract<ChatMessage, { role: Role }>

/** Under this name a call carries arguments that are no JSON object, as a model wrote them. */
export const INVALID = 'INVALID_JSON'

/** In a conversation: names are found for all calls, and all that is in it is written again in one go. */
const MOST_CALLS = 10_000
const MOST_PARTS = 50_000
const tooMany = (most: number, what: string) =>
  `takes no more than ${most.toLocaleString('en')} ${what} in a conversation`
/** In characters, of all calls of a conversation: they are read in one go, and written again. Hardly a model has room for more. */
const LONGEST_ARGUMENTS = 750_000
// Written when it is needed: the first number of a language takes long to write.
const tooLong = () =>
  `takes no more than ${LONGEST_ARGUMENTS.toLocaleString('en')} characters of arguments in a conversation`

/** @throws ProviderError `unsupported` with the place of what `provider` cannot be told */
export function conversationOf(messages: readonly ChatMessage[], provider: string): Conversation {
  const reader = new Reader(provider)
  for (const [at, message] of messages.entries()) reader.read(message, `messages[${at}]`)
  return { system: reader.system, turns: reader.turns }
}

class Reader {
  readonly system: string[] = []
  readonly turns: Turn[] = []
  readonly #provider: string
  /** Names of tools by the ids of calls. */
  readonly #called = new Map<string, string>()
  #calls = 0
  #parts = 0
  /** Characters of arguments so far. */
  #arguments = 0

  constructor(provider: string) {
    this.#provider = provider
  }

  read(message: ChatMessage, place: string): void {
    if (message.role !== 'tool' && message.role !== 'function' && message.name != null)
      throw notTaken(this.#provider, `${place}.name`, 'takes no names of those who speak')
    if (Array.isArray(message.content)) this.#parts += message.content.length
    if (this.#parts > MOST_PARTS) throw notTaken(this.#provider, `${place}.content`, tooMany(MOST_PARTS, 'parts'))
    const readers: { readonly [role: string]: () => void } = {
      system: () => this.#instructions(message as Message<'system'>),
      developer: () => this.#instructions(message as Message<'developer'>),
      user: () => this.#add('user', this.#said(message as Message<'user'>, place)),
      assistant: () => this.#add('assistant', this.#answered(message as Message<'assistant'>, place)),
      tool: () => this.#add('user', [this.#result(message as Message<'tool'>, place)]),
    }
    const read = Object.hasOwn(readers, message.role) ? readers[message.role]! : null
    if (!read) throw notTaken(this.#provider, `${place}.role`, `takes no messages of the role "${message.role}"`)
    read()
  }

  #instructions({ content }: { content: Message<'tool'>['content'] }): void {
    this.system.push(...textsOf(content))
  }

  #said({ content }: Message<'user'>, place: string): Item[] {
    if (typeof content === 'string') return texts(content)
    return content.flatMap((part, at): Item[] => {
      if (part.type === 'text') return texts(part.text)
      return [mediaOf(part, `${place}.content[${at}]`, this.#provider)]
    })
  }

  #answered(message: Message<'assistant'>, place: string): Item[] {
    for (const field of ['audio', 'function_call'] as const)
      if (message[field] != null) throw notTaken(this.#provider, `${place}.${field}`, 'takes none in a conversation')
    const { content, refusal, tool_calls } = message
    const said = typeof content === 'string' ? [content] : (content ?? []).map((part) => spoken(part))
    const calls = (tool_calls ?? []).map((call, at) => this.#call(call, `${place}.tool_calls[${at}]`))
    return [...said.flatMap(texts), ...texts(refusal ?? ''), ...calls]
  }

  #call(call: NonNullable<Message<'assistant'>['tool_calls']>[number], place: string): Call {
    if (call.type !== 'function') throw notTaken(this.#provider, place, 'takes calls of functions alone')
    const { name, arguments: written } = call.function
    if (++this.#calls > MOST_CALLS) throw notTaken(this.#provider, place, tooMany(MOST_CALLS, 'calls'))
    this.#arguments += written.length
    if (this.#arguments > LONGEST_ARGUMENTS) throw notTaken(this.#provider, `${place}.function.arguments`, tooLong())
    this.#called.set(call.id, name)
    return { type: 'call', id: call.id, name, input: inputOf(written) }
  }

  #result({ content, tool_call_id: id }: Message<'tool'>, place: string): Result {
    const name = this.#called.get(id)
    if (name === undefined) throw notTaken(this.#provider, `${place}.tool_call_id`, 'takes no result without its call')
    return { type: 'result', id, name, text: textsOf(content).join('\n') }
  }

  /** Turns alternate: what one side says at a stretch is one turn. */
  #add(role: Turn['role'], items: readonly Item[]): void {
    const last = this.turns.at(-1)
    if (last?.role === role) last.items.push(...items)
    else if (items.length > 0) this.turns.push({ role, items: [...items] })
  }
}

/** Vendors take no empty texts, and they say nothing. */
function texts(text: string): Item[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function textsOf(content: Message<'tool'>['content']): string[] {
  const all = typeof content === 'string' ? [content] : content.map(({ text }) => text)
  return all.filter((text) => text !== '')
}

function spoken(part: { type: 'text'; text: string } | { type: 'refusal'; refusal: string }): string {
  return part.type === 'text' ? part.text : part.refusal
}

/** The arguments of a call as an object. Models may write what is none. */
function inputOf(written: string): Record<string, unknown> {
  if (written.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(written)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as Record<string, unknown>
  } catch {
    // As below.
  }
  return { [INVALID]: written }
}
