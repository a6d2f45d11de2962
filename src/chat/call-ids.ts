// Ids of calls of tools. Those of providers may be long, hold anything, or be given again in the next answer: clients, rows and frames have ids
// of our own, each of which stands for one call. A provider hears its own ids again while the turn lives, since some know more by them.
import type { ChatMessage, ToolCall } from '../../generated/types.ts'
import type { Redactor } from '../redaction/redactor.ts'

/** Ids that some servers count anew in each answer. */
const COUNTED = /^(?:call_?)?\d*$/
const LONGEST = 512

export class CallIds {
  readonly #make: () => string
  readonly #redactor: Redactor
  /** By id of our own. */
  readonly #given = new Map<string, string>()
  readonly #known = new Set<string>()

  constructor(make: () => string, redactor: Redactor) {
    this.#make = make
    this.#redactor = redactor
  }

  /** Ours for a new call that its provider gave an id. */
  own(given: string): string {
    const id = this.#make()
    const isGood = given.length <= LONGEST && !COUNTED.test(given) && this.#redactor.text(given) === given
    if (isGood && !this.#known.has(given)) this.#given.set(id, given)
    this.#known.add(given)
    return id
  }

  /** The same conversation with the ids that its provider knows. */
  known(messages: readonly ChatMessage[]): ChatMessage[] {
    return messages.map((message): ChatMessage => {
      if (message.role === 'tool') return { ...message, tool_call_id: this.#of(message.tool_call_id) }
      if (message.role !== 'assistant' || !message.tool_calls) return message
      const tool_calls = message.tool_calls.map((call): ToolCall => ({ ...call, id: this.#of(call.id) }))
      return { ...message, tool_calls }
    })
  }

  #of(id: string): string {
    return this.#given.get(id) ?? id
  }
}
