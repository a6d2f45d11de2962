// What one call uses: as its provider counts, or counted here where it does not, or not believably.
import type { ModelMessage, ModelUse } from '../engine/services.ts'
import { isCount } from './checked.ts'
import type { Found } from './finding.ts'
import { textOf } from './message-text.ts'
import { costOf } from './prices.ts'
import type { Counted, Usage } from './provider.ts'
import { tokensOf } from './tokens.ts'

export class Tally {
  readonly #found: Found
  readonly #messages: readonly ModelMessage[]
  #text = ''
  #over = false
  #begun = false
  #counted: Counted = { input_tokens: 0, output_tokens: 0 }

  constructor(found: Found, messages: readonly ModelMessage[]) {
    this.#found = found
    this.#messages = messages
  }

  /** Of the answer so far, in characters. */
  get length(): number {
    return this.#text.length
  }

  add(text: string): void {
    this.#text += text
  }

  /** The provider has begun to answer, or counts. */
  hear(counted: Counted | null): void {
    this.#begun = true
    if (!counted) return
    const later = (name: keyof Counted) => (isCount(counted[name]) ? counted[name] : this.#counted[name])
    this.#counted = { input_tokens: later('input_tokens'), output_tokens: later('output_tokens') }
  }

  /** The call is over. */
  end(usage: Usage | null): ModelUse {
    this.#over = true
    return this.#use(usage)
  }

  /** What a call that broke off has used, as far as anybody can tell. Null where it came to its end, or was never begun with. */
  left(): ModelUse | null {
    if (this.#over || (!this.#begun && this.#text === '')) return null
    // The last count may be older than the last text.
    const output_tokens = Math.max(this.#counted.output_tokens, tokensOf(this.#found.provider, this.#text))
    return this.#use({ ...this.#counted, output_tokens, cost: null })
  }

  #use(usage: Usage | null): ModelUse {
    const { provider, model } = this.#found
    const input_tokens =
      usage?.input_tokens || this.#counted.input_tokens || tokensOf(provider, this.#messages.map(textOf).join('\n'))
    const output_tokens = usage?.output_tokens || this.#counted.output_tokens || tokensOf(provider, this.#text)
    const cost = costOf(model.price, { input_tokens, output_tokens, cost: usage?.cost ?? null })
    return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens, cost }
  }
}

/** What turning texts into vectors used. `counted` is the provider's own count, or zero. */
export function embeddingUse({ provider, model }: Found, texts: readonly string[], counted: number): ModelUse {
  const input_tokens = counted || texts.reduce((sum, text) => sum + tokensOf(provider, text), 0)
  const cost = costOf(model.price, { input_tokens, output_tokens: 0, cost: null })
  return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens: 0, cost }
}
