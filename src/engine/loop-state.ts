// The loop of one node in one run: the firing that is open while its rounds go on, one after the other.
import { ItemSource } from './firing.ts'
import { KeptItems } from './kept-items.ts'
import type { Inputs, Rounds } from './node-type.ts'
import type { PlanNode } from './plan-parts.ts'
import { checkedItem, checkedOutputs, coerced } from './results.ts'
import type { Sides } from './sides.ts'
import { isValue, type Tasks } from './tasks.ts'
import { End, Failure, NOTHING } from './tokens.ts'

type Step = ReturnType<Rounds['next']>

export class LoopState {
  readonly #node: PlanNode
  readonly #tasks: Tasks
  readonly #sides: Sides
  /** How many tokens of each slot are to be passed over. */
  readonly #echoes = new Map<number, number>()
  readonly #kept: KeptItems
  #rounds: Rounds | null = null
  #source = new ItemSource(null, false)

  constructor(node: PlanNode, tasks: Tasks, sides: Sides) {
    this.#node = node
    this.#tasks = tasks
    this.#sides = sides
    this.#kept = new KeptItems(node, tasks.held)
  }

  /** Whether rounds go on. */
  get open(): boolean {
    return this.#rounds !== null
  }

  /** Begins a firing. Gives its items, or the failure that stands for it; null: the run has failed. */
  begin(inputs: Inputs): ItemSource | Failure | null {
    this.#tasks.remember(inputs)
    const rounds = this.#tasks.attempt((context) => this.#node.type.loop!(inputs, context))
    if (!isValue(rounds)) return rounds ?? null
    this.#rounds = rounds
    this.#source = new ItemSource(null, false)
    this.#take(this.#tasks.attempt(() => rounds.first()))
    return this.#source
  }

  /** Takes in what came back. Each end that the loop sends out comes back as well: no news. */
  receive(slot: number, token: unknown): void {
    if (token instanceof End) return
    const echoes = this.#echoes.get(slot) ?? 0
    if (echoes > 0) this.#echoes.set(slot, echoes - 1)
    else this.#sides.receive(slot, token)
  }

  /** A failure goes out as an item: what comes back of it belongs to no round. */
  skipEcho(): void {
    for (const slot of this.#node.sides) this.#echoes.set(slot, (this.#echoes.get(slot) ?? 0) + 1)
  }

  /** Begins the next round, or ends, once everything has come back. False: it has to wait. */
  advance(): boolean {
    const rounds = this.#rounds
    if (!rounds || !this.#sides.ready) return false
    const results = this.#results()
    this.#take(isValue(results) ? this.#tasks.attempt(() => rounds.next(results)) : results)
    return !this.#tasks.stopped
  }

  get missing(): number[] {
    return this.#sides.missing
  }

  #results(): Inputs | Failure | undefined {
    const results: Inputs = {}
    let failure: Failure | undefined
    for (const inbox of this.#sides.all) {
      const token = this.#sides.take(inbox)
      const passed = token === NOTHING || token instanceof Failure
      const value = passed ? token : this.#tasks.attempt(() => coerced(this.#node, inbox.slot, token))
      if (this.#tasks.stopped) return undefined
      if (value instanceof Failure) failure ??= value
      else if (token !== NOTHING) {
        this.#kept.read(inbox.slot, token)
        results[inbox.slot.name!] = value
      }
    }
    return failure ?? results
  }

  #take(step: Step | Failure | undefined): void {
    if (step === undefined) return
    const node = this.#node
    const judged =
      step instanceof Failure
        ? step
        : this.#tasks.attempt(() =>
            'item' in step ? checkedItem(node, step.item) : checkedOutputs(node, step.outputs),
          )
    if (judged === undefined) return
    if (isValue(judged) && isValue(step) && 'item' in step) {
      this.#kept.gave()
      this.#source.push(judged)
      return
    }
    this.#rounds = null
    this.#kept.clear()
    this.#source.result = judged
    this.#source.ended = true
  }
}
