// The steps of one firing: pieces of its work that are recorded one by one, so that a firing that runs again repeats no step that had
// ended. See law 61 and following in ../README.md.

import type { FiringCalls } from '../runtime/firings/calls.ts'
import type { HaltableWait } from '../runtime/workflow-call.ts'
import type { RecordedStep } from './journal.ts'

/** The journal calls for steps; each resolves when it is committed. */
export interface StepJournal {
  step(name: string, call: number): Promise<void>
  stepEnd(name: string, value: unknown): Promise<void>
  /** A step that begins and ends at once. */
  stepWithEnd(name: string, call: number, value: unknown): Promise<void>
}

/** The steps of a firing, over all of its attempts. */
export interface StepStore {
  /** Begins a step of the firing. */
  takeStep(name: string): Promise<OpenStep>
  keep(name: string, value: unknown): Promise<void>
  /** The recorded value of a step, or null. */
  findKept(name: string): { readonly value: unknown } | null
}

export const NO_STEPS: ReadonlyMap<string, RecordedStep> = new Map()

/** A step from its begin to its end. */
export class OpenStep implements HaltableWait {
  /** The number of the step's call among the calls of the firing. */
  readonly call: number
  readonly known: { readonly value: unknown } | null
  readonly interrupted: boolean
  readonly #steps: FiringSteps
  readonly #name: string
  /** The call that the step waits for. */
  currentCall: HaltableWait | null = null

  constructor(steps: FiringSteps, name: string, from: RecordedStep) {
    this.#steps = steps
    this.#name = name
    this.call = from.call
    this.known = from.end
    this.interrupted = from.begun && from.end === null
  }

  async end(value: unknown): Promise<void> {
    await this.#steps.endStep(this, this.#name, value)
  }

  /** Closes the step, ended or not. */
  leave(): void {
    this.#steps.leaveStep(this)
  }

  get isQuiescent(): boolean {
    return this.currentCall?.isQuiescent === true
  }

  halt(): void {
    this.currentCall?.halt()
  }

  wake(): void {
    this.currentCall?.wake()
  }
}

export class FiringSteps {
  readonly #known: Map<string, RecordedStep>
  readonly #calls: FiringCalls
  readonly #journal: StepJournal
  readonly #takenNames = new Set<string>()
  readonly #openSteps = new Set<OpenStep>()

  constructor(known: ReadonlyMap<string, RecordedStep>, calls: FiringCalls, journal: StepJournal) {
    this.#known = new Map(known)
    this.#calls = calls
    this.#journal = journal
  }

  /** Resolves when the begin is committed, so that no work is done unrecorded. Resolves at once if the step had ended. */
  async begin(name: string): Promise<OpenStep> {
    if (this.#takenNames.has(name)) throw new Error(`A firing has two steps of the name "${name}".`)
    this.#takenNames.add(name)
    const known = this.#known.get(name) ?? { call: this.#calls.nextNumber(), begun: false, end: null }
    const step = new OpenStep(this, name, known)
    if (known.end) return step
    // The firing may continue meanwhile, except for what the step itself waits for.
    this.#openSteps.add(step)
    this.#calls.setWaiting(step, false)
    if (!known.begun) await this.#journal.step(name, known.call)
    return step
  }

  async endStep(step: OpenStep, name: string, value: unknown): Promise<void> {
    if (!this.#openSteps.has(step)) return
    this.#known.set(name, { call: step.call, begun: true, end: { value } })
    await this.#journal.stepEnd(name, value)
    this.leaveStep(step)
  }

  /** Records a step that ends as it begins. It counts for all attempts, even if the current one is over. */
  async keep(name: string, value: unknown): Promise<void> {
    const known = this.#known.get(name)
    if (known?.begun || known?.end || this.#takenNames.has(name))
      throw new Error(`A firing keeps two values under the name "${name}".`)
    const call = known?.call ?? this.#calls.nextNumber()
    this.#known.set(name, { call, begun: true, end: { value } })
    await this.#journal.stepWithEnd(name, call, value)
  }

  /** The recorded value of a step, or null. */
  findKept(name: string): { readonly value: unknown } | null {
    return this.#known.get(name)?.end ?? null
  }

  /** Whether a step that was not taken yet had begun, but not ended, before an interruption. */
  isInterrupted(name: string): boolean {
    const known = this.#known.get(name)
    return known?.begun === true && known.end === null
  }

  leaveStep(step: OpenStep): void {
    if (this.#openSteps.delete(step)) this.#calls.remove(step)
  }

  /** Prepares for another attempt: steps that had ended are kept, all others are forgotten. */
  restart(): void {
    for (const step of [...this.#openSteps]) this.leaveStep(step)
    for (const [name, { end }] of this.#known) if (!end) this.#known.delete(name)
    this.#takenNames.clear()
  }
}

/** The number of the first call after those of all these steps. */
export function countCalls(steps: ReadonlyMap<string, RecordedStep>): number {
  return [...steps.values()].reduce((most, { call }) => Math.max(most, call + 1), 0)
}
