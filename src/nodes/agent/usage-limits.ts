// The limits of an agent: turns, tokens, time and money, over all attempts. A reached limit is final, since another attempt could only use
// more. All but the limit of turns end the agent with `limit_reached`, before its next turn or within it.

import { NonRetryableError } from '../../engine/node-api/node-error.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { roundAmount } from '../../shared/money.ts'

export interface AgentLimits {
  readonly max_steps: number
  readonly max_tokens: number | null
  readonly max_seconds: number | null
  readonly max_cost: number | null
}

/** The usage of a turn, or of the calls of a turn, that failed. Plain data, which is kept. */
export interface WastedUse {
  /** Null if the usage is unknown, or if no model was called. */
  readonly use: ModelUsage | null
  /** In milliseconds. */
  readonly ms: number
}

/** The usage of an agent: turns and calls, including failed ones and those of earlier processes and attempts. */
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

  /** In milliseconds, or null for no limit. */
  get msLeft(): number | null {
    const { max_seconds } = this.#limits
    return max_seconds === null ? null : max_seconds * 1000 - this.ms
  }

  addTurn(use: ModelUsage | null): void {
    this.turns++
    if (use) this.#count(use)
  }

  /** Adds the usage of a failed turn, which does not count as a turn. */
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
    if (cost === null) this.#unknownCostReason = `the price of the model "${model}" is unknown`
    else if (this.#currency !== null && cost.currency !== this.#currency && cost.amount > 0)
      this.#unknownCostReason = `its models cost ${this.#currency} and ${cost.currency}`
    else {
      this.#cost += cost.amount
      if (this.#currency === null || cost.amount > 0) this.#currency = cost.currency
    }
  }

  /** Called before each turn. @throws NodeError `limit_reached`, `unknown_cost` */
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
