// The steps of one firing: pieces of its work that are remembered one by one, so that a firing that is run again does none of them twice
// that had ended. Law 61 and following of the README beside this file.

import type { FiringCalls } from '../runtime/firings/calls.ts'
import type { HaltableWait } from '../runtime/workflow-call.ts'
import type { RecordedStep } from './journal.ts'

/** What a firing tells of its steps; all resolve when it is committed. */
export interface StepJournal {
  step(name: string, call: number): Promise<void>
  stepEnd(name: string, value: unknown): Promise<void>
  /** A step that ended as it began. */
  stepWithEnd(name: string, call: number, value: unknown): Promise<void>
}

/** Who knows the steps of a firing over its attempts. */
export interface StepStore {
  /** Begins a step of it. */
  takeStep(name: string): Promise<OpenStep>
  keep(name: string, value: unknown): Promise<void>
  /** What a step came to, or null. */
  findKept(name: string): { readonly value: unknown } | null
}

export const NO_STEPS: ReadonlyMap<string, RecordedStep> = new Map()

/** One step, from its begin to its end. */
export class OpenStep implements HaltableWait {
  /** Which of the firing's calls it makes. */
  readonly call: number
  readonly known: { readonly value: unknown } | null
  readonly interrupted: boolean
  readonly #steps: FiringSteps
  readonly #name: string
  /** The call that it waits for. */
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

  /** It is over, whether or not it came to its end. */
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

  /** Resolves when its begin is committed, so that it can never be done without being known; with one that had ended, at once. */
  async begin(name: string): Promise<OpenStep> {
    if (this.#takenNames.has(name)) throw new Error(`A firing has two steps of the name "${name}".`)
    this.#takenNames.add(name)
    const known = this.#known.get(name) ?? { call: this.#calls.nextNumber(), begun: false, end: null }
    const step = new OpenStep(this, name, known)
    if (known.end) return step
    // The firing can go on meanwhile, but for what the step waits for itself.
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

  /** A step that ends as it begins. It counts for all attempts, whether or not its own is over. */
  async keep(name: string, value: unknown): Promise<void> {
    const known = this.#known.get(name)
    if (known?.begun || known?.end || this.#takenNames.has(name))
      throw new Error(`A firing keeps two things of the name "${name}".`)
    const call = known?.call ?? this.#calls.nextNumber()
    this.#known.set(name, { call, begun: true, end: { value } })
    await this.#journal.stepWithEnd(name, call, value)
  }

  /** What a step came to, or null. */
  findKept(name: string): { readonly value: unknown } | null {
    return this.#known.get(name)?.end ?? null
  }

  /** Whether a step that is not asked for yet had begun before an interruption, and had not ended. */
  isInterrupted(name: string): boolean {
    const known = this.#known.get(name)
    return known?.begun === true && known.end === null
  }

  leaveStep(step: OpenStep): void {
    if (this.#openSteps.delete(step)) this.#calls.remove(step)
  }

  /** Another attempt begins: it finds those that had ended, and nothing of the others. */
  restart(): void {
    for (const step of [...this.#openSteps]) this.leaveStep(step)
    for (const [name, { end }] of this.#known) if (!end) this.#known.delete(name)
    this.#takenNames.clear()
  }
}

/** The number of the first call that no step of these has. */
export function countCalls(steps: ReadonlyMap<string, RecordedStep>): number {
  return [...steps.values()].reduce((most, { call }) => Math.max(most, call + 1), 0)
}
