// Ids of calls of tools. Those of providers may be long, hold anything, or be given again in the next answer: clients, rows and frames have ids
// of our own, each of which stands for one call. A provider hears its own ids again while the turn lives, since some know more by them.
import type { ChatMessage, ToolCall } from '../../../generated/types.ts'
import type { Redactor } from '../../redaction/redactor.ts'

/** Ids that some servers count anew in each answer. */
const COUNTED_ID = /^(?:call_?)?\d*$/
const MAX_LENGTH = 512

export class ToolCallIds {
  readonly #createId: () => string
  readonly #redactor: Redactor
  /** By id of our own. */
  readonly #provider_ids = new Map<string, string>()
  readonly #used_ids = new Set<string>()

  constructor(make: () => string, redactor: Redactor) {
    this.#createId = make
    this.#redactor = redactor
  }

  /** Ours for a new call that its provider gave an id. */
  createOwn(given: string): string {
    const id = this.#createId()
    const isGood = given.length <= MAX_LENGTH && !COUNTED_ID.test(given) && this.#redactor.text(given) === given
    if (isGood && !this.#used_ids.has(given)) this.#provider_ids.set(id, given)
    this.#used_ids.add(given)
    return id
  }

  /** The same conversation with the ids that its provider knows. */
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
