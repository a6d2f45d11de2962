// How many tokens the prompts of a run have: counted piece by piece, so that others have their turn, each once, and no more than so many.

import { countModelTokens } from '../../models/billing/token-count.ts'
import type { Provider } from '../../models/provider.ts'
import type { OwnerTimeSlices } from '../../shared/time-slices.ts'

/** Characters of prompts that are counted for one preflight: of longer ones the cost is not known. */
const MOST_COUNTED = 20_000_000
/** Characters of a text that are counted at once. The sum of its pieces may differ from the whole by a token each. */
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

  /** Null where it was not counted. */
  of(provider: Provider, prompt: string): number | null {
    return this.#counts.get(provider)?.get(prompt) ?? null
  }
}
