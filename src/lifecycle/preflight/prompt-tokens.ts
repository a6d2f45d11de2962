// PromptTokenCounter counts the tokens of the prompts of a run in pieces, so that other work gets its turn. It counts each prompt once, up
// to a total limit.

import { countModelTokens } from '../../models/billing/token-count.ts'
import type { Provider } from '../../models/provider.ts'
import type { OwnerTimeSlices } from '../../shared/time-slices.ts'

/** Characters of prompts that one preflight counts. The cost of further prompts is unknown. */
const MOST_COUNTED = 20_000_000
/** Characters of one piece. The sum over the pieces may differ from the whole by one token for each piece. */
const AT_ONCE = 100_000

export class PromptTokenCounter {
  readonly #turns: Pick<OwnerTimeSlices, 'over' | 'next'>
  readonly #counts = new Map<Provider, Map<string, number | null>>()
  #counted = 0

  constructor(turns: Pick<OwnerTimeSlices, 'over' | 'next'>) {
    this.#turns = turns
  }

  async count(provider: Provider, prompt: string): Promise<void> {
    const counts = this.#counts.get(provider) ?? new Map<string, number | null>()
    this.#counts.set(provider, counts)
    if (counts.has(prompt)) return
    this.#counted += prompt.length
    counts.set(prompt, null)
    if (this.#counted > MOST_COUNTED) return
    let tokens = 0
    for (let at = 0; at < prompt.length; at += AT_ONCE) {
      if (this.#turns.over) await this.#turns.next()
      tokens += countModelTokens(provider, prompt.slice(at, at + AT_ONCE))
    }
    counts.set(prompt, tokens)
  }

  /** Returns null if the prompt was not counted. */
  of(provider: Provider, prompt: string): number | null {
    return this.#counts.get(provider)?.get(prompt) ?? null
  }
}
