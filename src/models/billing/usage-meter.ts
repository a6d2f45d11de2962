// Counts what one call uses: by its provider's count, or by an own count where that is missing or implausible.
import type { ModelMessage, ModelUsage } from '../../engine/node-api/services/models.ts'
import { joinMessageText } from '../calls/message-text.ts'
import type { ResolvedModel } from '../catalogue/resolved-model.ts'
import type { TokenCounts, Usage } from '../provider.ts'
import { isTokenCount } from '../providers/shared/provider-data-validation.ts'
import { calculateCallCost } from './call-cost.ts'
import { countModelTokens } from './token-count.ts'

export class UsageMeter {
  readonly #found: ResolvedModel
  readonly #messages: readonly ModelMessage[]
  #text = ''
  #isComplete = false
  #hasStarted = false
  #reportedCounts: TokenCounts = { input_tokens: 0, output_tokens: 0 }

  constructor(found: ResolvedModel, messages: readonly ModelMessage[]) {
    this.#found = found
    this.#messages = messages
  }

  /** The length of the answer so far, in characters. */
  get length(): number {
    return this.#text.length
  }

  addText(text: string): void {
    this.#text += text
  }

  /** Records that the provider has begun to answer, or sent a count. */
  recordCounts(counted: TokenCounts | null): void {
    this.#hasStarted = true
    if (!counted) return
    const latestCount = (name: keyof TokenCounts) =>
      isTokenCount(counted[name]) ? counted[name] : this.#reportedCounts[name]
    this.#reportedCounts = { input_tokens: latestCount('input_tokens'), output_tokens: latestCount('output_tokens') }
  }

  /** What a completed call has used. */
  completedUse(usage: Usage | null): ModelUsage {
    this.#isComplete = true
    return this.#createUse(usage)
  }

  /** What a call that broke off has used, as an estimate. Null where the call is complete, or its answer never began. */
  interruptedUse(): ModelUsage | null {
    if (this.#isComplete || (!this.#hasStarted && this.#text === '')) return null
    // The last count may be older than the last text.
    const output_tokens = Math.max(
      this.#reportedCounts.output_tokens,
      countModelTokens(this.#found.provider, this.#text),
    )
    return this.#createUse({ ...this.#reportedCounts, output_tokens, cost: null })
  }

  #createUse(usage: Usage | null): ModelUsage {
    const { provider, model } = this.#found
    const input_tokens =
      usage?.input_tokens ||
      this.#reportedCounts.input_tokens ||
      countModelTokens(provider, this.#messages.map(joinMessageText).join('\n'))
    const output_tokens =
      usage?.output_tokens || this.#reportedCounts.output_tokens || countModelTokens(provider, this.#text)
    const cost = calculateCallCost(model.price, { input_tokens, output_tokens, cost: usage?.cost ?? null })
    return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens, cost }
  }
}

/** What a call for vectors used. `counted` is the provider's own count, or zero. */
export function measureEmbeddingUse(
  { provider, model }: ResolvedModel,
  texts: readonly string[],
  counted: number,
): ModelUsage {
  const input_tokens = counted || texts.reduce((sum, text) => sum + countModelTokens(provider, text), 0)
  const cost = calculateCallCost(model.price, { input_tokens, output_tokens: 0, cost: null })
  return { model: `${provider.name}/${model.name}`, input_tokens, output_tokens: 0, cost }
}
