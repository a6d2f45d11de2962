// Replaces tool call ids of providers, which may be long, contain anything, or repeat in a later answer. Clients, rows
// and frames use our own ids, each for one call. During the turn the provider receives its own ids again, since some
// providers encode data in them.
import type { ChatMessage, ToolCall } from '../../../generated/types.ts'
import type { Redactor } from '../../redaction/redactor.ts'

/** Ids that some servers start again in each answer. */
const COUNTED_ID = /^(?:call_?)?\d*$/
const MAX_LENGTH = 512

export class ToolCallIds {
  readonly #createId: () => string
  readonly #redactor: Redactor
  /** By our own id. */
  readonly #provider_ids = new Map<string, string>()
  readonly #used_ids = new Set<string>()

  constructor(make: () => string, redactor: Redactor) {
    this.#createId = make
    this.#redactor = redactor
  }

  /** Creates our own id for a new call; `given` is the provider's id. */
  createOwn(given: string): string {
    const id = this.#createId()
    const isGood = given.length <= MAX_LENGTH && !COUNTED_ID.test(given) && this.#redactor.text(given) === given
    if (isGood && !this.#used_ids.has(given)) this.#provider_ids.set(id, given)
    this.#used_ids.add(given)
    return id
  }

  /** Returns the conversation with the provider's ids. */
  toProviderIds(messages: readonly ChatMessage[]): ChatMessage[] {
    return messages.map((message): ChatMessage => {
      if (message.role === 'tool') return { ...message, tool_call_id: this.#toProviderId(message.tool_call_id) }
      if (message.role !== 'assistant' || !message.tool_calls) return message
      const tool_calls = message.tool_calls.map((call): ToolCall => ({ ...call, id: this.#toProviderId(call.id) }))
      return { ...message, tool_calls }
    })
  }

  #toProviderId(id: string): string {
    return this.#provider_ids.get(id) ?? id
  }
}
