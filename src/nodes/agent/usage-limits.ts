// What an agent may take: turns, tokens, time and money, over all attempts at it. Whichever is reached is final: another attempt could only
// take more. All but the turns end it with `limit_reached`, before its next turn or within one.

import type { ModelUsage } from '../../engine/node-api/node-services.ts'
import { NonRetryableError } from '../../engine/node-api/node-type.ts'
import { roundAmount } from '../../shared/money.ts'

export interface AgentLimits {
  readonly max_steps: number
  readonly max_tokens: number | null
  readonly max_seconds: number | null
  readonly max_cost: number | null
}

/** A turn, or the calls of one, that came to nothing. Plain data, which is kept. */
export interface WastedUse {
  /** Null where nobody knows, or no model was asked. */
  readonly use: ModelUsage | null
  /** Milliseconds. */
  readonly ms: number
}

/** What it has used: its turns and calls, those of an earlier process and of earlier attempts included, and what came to nothing. */
export class AgentUsage {
  readonly #limits: AgentLimits
  turns = 0
  input_tokens = 0
  output_tokens = 0
  ms = 0
  #cost = 0
  #currency: string | null = null
  /** Why the cost cannot be told as one number. */
  #unknownCostReason: string | null = null

  constructor(limits: AgentLimits) {
    this.#limits = limits
  }

  get cost(): { amount: number; currency: string } | null {
    return this.#currency === null || this.#unknownCostReason
      ? null
      : { amount: roundAmount(this.#cost), currency: this.#currency }
  }

  /** The most tokens of the next answer, or null for no limit. */
  get tokensLeft(): number | null {
    const { max_tokens } = this.#limits
    return max_tokens === null ? null : max_tokens - this.input_tokens - this.output_tokens
  }

  /** Milliseconds, or null for no limit. */
  get msLeft(): number | null {
    const { max_seconds } = this.#limits
    return max_seconds === null ? null : max_seconds * 1000 - this.ms
  }

  addTurn(use: ModelUsage | null): void {
    this.turns++
    if (use) this.#count(use)
  }

  /** What came to nothing is no turn. */
  addWasted({ use, ms }: WastedUse): void {
    this.ms += ms
    if (use) this.#count(use)
  }

  #count(use: ModelUsage): void {
    this.input_tokens += use.input_tokens
    this.output_tokens += use.output_tokens
    this.#addCost(use)
  }

  #addCost({ model, cost }: ModelUsage): void {
    if (cost === null) this.#unknownCostReason = `nobody knows what the model "${model}" costs`
    else if (this.#currency !== null && cost.currency !== this.#currency && cost.amount > 0)
      this.#unknownCostReason = `its models cost ${this.#currency} and ${cost.currency}`
    else {
      this.#cost += cost.amount
      if (this.#currency === null || cost.amount > 0) this.#currency = cost.currency
    }
  }

  /** Before a turn. @throws NodeError `limit_reached`, `unknown_cost` */
  guardLimits(): void {
    const { max_tokens, max_cost } = this.#limits
    if (this.tokensLeft !== null && this.tokensLeft <= 0)
      throw limitReachedError(`${this.input_tokens + this.output_tokens} tokens`, `max_tokens is ${max_tokens}`)
    if (this.msLeft !== null && this.msLeft <= 0) throw this.timeLimitError()
    if (max_cost === null) return
    if (this.#unknownCostReason)
      throw new NonRetryableError(
        `The agent cannot keep to max_cost, because ${this.#unknownCostReason}.`,
        'unknown_cost',
      )
    const cost = roundAmount(this.#cost)
    if (cost >= max_cost) throw limitReachedError(`${cost} ${this.#currency ?? ''}`.trim(), `max_cost is ${max_cost}`)
  }

  timeLimitError(): NonRetryableError {
    const { max_seconds } = this.#limits
    return limitReachedError(`${max_seconds} s`, `max_seconds is ${max_seconds}`)
  }
}

function limitReachedError(used: string, limit: string): NonRetryableError {
  return new NonRetryableError(`The agent was stopped after ${used}: ${limit}.`, 'limit_reached')
}
