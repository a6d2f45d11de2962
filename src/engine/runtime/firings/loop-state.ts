// The loop of one node in one run: its open firing, whose rounds follow one another.

import type { PlanNode } from '../../compile/plan.ts'
import type { InputValues, LoopFiring } from '../../node-api/firing-forms.ts'
import type { SideInputs } from '../streams/side-inputs.ts'
import { FailureToken, NO_VALUE, StreamEndToken } from '../streams/tokens.ts'
import { ItemSource } from './firing.ts'
import { isNodeResult, type NodeCodeRunner } from './node-code-runner.ts'
import { coerceInput, validateItem, validateOutputs } from './result-validation.ts'
import { RetainedItems } from './retained-items.ts'

type LoopStep = ReturnType<LoopFiring['next']>

export class LoopState {
  readonly #node: PlanNode
  readonly #codeRunner: NodeCodeRunner
  readonly #sideInputs: SideInputs
  /** The number of tokens to skip, by slot. */
  readonly #echoes = new Map<number, number>()
  readonly #retained: RetainedItems
  #rounds: LoopFiring | null = null
  #source = new ItemSource(null, false)

  constructor(node: PlanNode, codeRunner: NodeCodeRunner, sideInputs: SideInputs) {
    this.#node = node
    this.#codeRunner = codeRunner
    this.#sideInputs = sideInputs
    this.#retained = new RetainedItems(node, codeRunner.memoryAccount)
  }

  /** Whether a firing is open. */
  get isOpen(): boolean {
    return this.#rounds !== null
  }

  /** Begins a firing. Returns its items or its failure; null: the run has failed. */
  begin(inputs: InputValues): ItemSource | FailureToken | null {
    this.#codeRunner.createRecord(inputs)
    const rounds = this.#codeRunner.runCode((context) => this.#node.type.loop!(inputs, context))
    if (!isNodeResult(rounds)) return rounds ?? null
    this.#rounds = rounds
    this.#source = new ItemSource(null, false)
    this.#takeStep(this.#codeRunner.runCode(() => rounds.first()))
    return this.#source
  }

  /** Receives feedback. Ends that the loop sent return as well and are ignored. */
  receive(slot: number, token: unknown): void {
    if (token instanceof StreamEndToken) return
    const echoes = this.#echoes.get(slot) ?? 0
    if (echoes > 0) this.#echoes.set(slot, echoes - 1)
    else this.#sideInputs.receive(slot, token)
  }

  /** A failure sent as an item returns along the feedback edges, but belongs to no round: skips it. */
  skipEcho(): void {
    for (const slot of this.#node.sideSlots) this.#echoes.set(slot, (this.#echoes.get(slot) ?? 0) + 1)
  }

  /** Begins the next round, or ends, once all feedback has arrived. False: it has to wait. */
  advance(): boolean {
    const rounds = this.#rounds
    if (!rounds || !this.#sideInputs.isReady) return false
    const results = this.#readResults()
    this.#takeStep(isNodeResult(results) ? this.#codeRunner.runCode(() => rounds.next(results)) : results)
    return !this.#codeRunner.stopped
  }

  get missingSources(): number[] {
    return this.#sideInputs.missingSources
  }

  #readResults(): InputValues | FailureToken | undefined {
    const results: InputValues = {}
    let failure: FailureToken | undefined
    for (const inbox of this.#sideInputs.inboxes) {
      const token = this.#sideInputs.take(inbox)
      const passed = token === NO_VALUE || token instanceof FailureToken
      const value = passed ? token : this.#codeRunner.runCode(() => coerceInput(this.#node, inbox.slot, token))
      if (this.#codeRunner.stopped) return undefined
      if (value instanceof FailureToken) failure ??= value
      else if (token !== NO_VALUE) {
        this.#retained.add(inbox.slot, token)
        results[inbox.slot.name!] = value
      }
    }
    return failure ?? results
  }

  #takeStep(step: LoopStep | FailureToken | undefined): void {
    if (step === undefined) return
    const node = this.#node
    const validated =
      step instanceof FailureToken
        ? step
        : this.#codeRunner.runCode(() =>
            'item' in step ? validateItem(node, step.item) : validateOutputs(node, step.outputs),
          )
    if (validated === undefined) return
    if (isNodeResult(validated) && isNodeResult(step) && 'item' in step) {
      this.#retained.releaseSinceItem()
      this.#source.push(validated)
      return
    }
    this.#rounds = null
    this.#retained.clear()
    this.#source.result = validated
    this.#source.hasEnded = true
  }
}
