// What an agent may take: turns, tokens, time and money, over all attempts at it. Whichever is reached is final: another attempt could only
// take more. All but the turns end it with `limit_reached`, before its next turn or within one.
import { rounded } from '../amounts.ts'
import { Final } from '../engine/node-type.ts'
import type { ModelUse } from '../engine/services.ts'

export interface Limits {
  readonly max_steps: number
  readonly max_tokens: number | null
  readonly max_seconds: number | null
  readonly max_cost: number | null
}

/** A turn, or the calls of one, that came to nothing. Plain data, which is kept. */
export interface Waste {
  /** Null where nobody knows, or no model was asked. */
  readonly use: ModelUse | null
  /** Milliseconds. */
  readonly ms: number
}

/** What it has used: its turns and calls, those of an earlier process and of earlier attempts included, and what came to nothing. */
export class Used {
  readonly #limits: Limits
  turns = 0
  input_tokens = 0
  output_tokens = 0
  ms = 0
  #cost = 0
  #currency: string | null = null
  /** Why the cost cannot be told as one number. */
  #unknown: string | null = null

  constructor(limits: Limits) {
    this.#limits = limits
  }

  get cost(): { amount: number; currency: string } | null {
    return this.#currency === null || this.#unknown ? null : { amount: rounded(this.#cost), currency: this.#currency }
  }

  /** The most tokens of the next answer, or null for no limit. */
  get left(): number | null {
    const { max_tokens } = this.#limits
    return max_tokens === null ? null : max_tokens - this.input_tokens - this.output_tokens
  }

  /** Milliseconds, or null for no limit. */
  get msLeft(): number | null {
    const { max_seconds } = this.#limits
    return max_seconds === null ? null : max_seconds * 1000 - this.ms
  }

  add(use: ModelUse | null): void {
    this.turns++
    if (use) this.#count(use)
  }

  /** What came to nothing is no turn. */
  waste({ use, ms }: Waste): void {
    this.ms += ms
    if (use) this.#count(use)
  }

  #count(use: ModelUse): void {
    this.input_tokens += use.input_tokens
    this.output_tokens += use.output_tokens
    this.#pay(use)
  }

  #pay({ model, cost }: ModelUse): void {
    if (cost === null) this.#unknown = `nobody knows what the model "${model}" costs`
    else if (this.#currency !== null && cost.currency !== this.#currency && cost.amount > 0)
      this.#unknown = `its models cost ${this.#currency} and ${cost.currency}`
    else {
      this.#cost += cost.amount
      if (this.#currency === null || cost.amount > 0) this.#currency = cost.currency
    }
  }

  /** Before a turn. @throws NodeError `limit_reached`, `unknown_cost` */
  check(): void {
    const { max_tokens, max_cost } = this.#limits
    if (this.left !== null && this.left <= 0)
      throw reached(`${this.input_tokens + this.output_tokens} tokens`, `max_tokens is ${max_tokens}`)
    if (this.msLeft !== null && this.msLeft <= 0) throw this.late()
    if (max_cost === null) return
    if (this.#unknown) throw new Final(`The agent cannot keep to max_cost, because ${this.#unknown}.`, 'unknown_cost')
    const cost = rounded(this.#cost)
    if (cost >= max_cost) throw reached(`${cost} ${this.#currency ?? ''}`.trim(), `max_cost is ${max_cost}`)
  }

  late(): Final {
    const { max_seconds } = this.#limits
    return reached(`${max_seconds} s`, `max_seconds is ${max_seconds}`)
  }
}

function reached(used: string, limit: string): Final {
  return new Final(`The agent was stopped after ${used}: ${limit}.`, 'limit_reached')
}
