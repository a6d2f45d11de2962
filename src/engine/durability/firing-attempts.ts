// The attempts of one firing in a durable run: what each of them begins anew (its random numbers), and what they share (the numbers of their
// workflow calls, and the steps that had ended).

import { type AttemptJournal, NO_FAILED_ATTEMPTS } from '../runtime/firings/attempts.ts'
import { FiringCalls } from '../runtime/firings/calls.ts'
import type { FiringJournal } from './firing-journal.ts'
import { countCalls, FiringSteps, NO_STEPS, type OpenStep, type StepStore } from './firing-steps.ts'
import type { FiringHistory } from './journal.ts'
import type { FiringSite, RunDurability } from './run-durability.ts'

/** The record of a firing, as seen by its attempts. */
interface AttemptedFiring extends FiringSite {
  /** Commits the start of an attempt, if the firing must not run twice. */
  commitStart(): Promise<void>
}

/** The parts of a run that attempts use. */
export interface AttemptingRun {
  /** Random numbers of a run without a seed. */
  readonly environment: { readonly random: () => number }
  readonly workLoop: { onWaitingChanged(still: boolean): void }
}

export class FiringAttempts implements AttemptJournal, StepStore {
  readonly #firing: AttemptedFiring
  readonly #run: AttemptingRun
  readonly #durability: RunDurability
  readonly #journal: FiringJournal
  /** The steps taken before an interruption. */
  #knownSteps: FiringHistory['steps'] = NO_STEPS
  /** Its failed attempts, including those before an interruption. */
  failedAttempts = NO_FAILED_ATTEMPTS
  #random: (() => number) | null = null
  #calls: FiringCalls | null = null
  #steps: FiringSteps | null = null

  constructor(firing: AttemptedFiring, run: AttemptingRun, durability: RunDurability, journal: FiringJournal) {
    this.#firing = firing
    this.#run = run
    this.#durability = durability
    this.#journal = journal
  }

  /** Continues after the attempts from before an interruption. */
  restore({ attempts, steps }: FiringHistory): void {
    this.failedAttempts = attempts ?? NO_FAILED_ATTEMPTS
    this.#knownSteps = steps
  }

  random(): number {
    this.#random ??=
      this.#durability.createRandom(this.#firing, this.failedAttempts.failed) ?? this.#run.environment.random
    return this.#random()
  }

  /** The next firing of a reused record has other random numbers. */
  forgetRandom(): void {
    this.#random = null
  }

  /** Whether the firing called a workflow or took a step. */
  get hasCalls(): boolean {
    return this.#calls !== null
  }

  /** The workflow calls of the firing. */
  get calls(): FiringCalls {
    this.#calls ??= new FiringCalls(
      (still) => this.#run.workLoop.onWaitingChanged(still),
      Math.max(this.failedAttempts.calls, countCalls(this.#knownSteps)),
    )
    return this.#calls
  }

  /** Whether the firing waits only for called workflows, none of which can continue by itself. */
  get isQuiescent(): boolean {
    return this.#calls?.isQuiescent === true
  }

  /** The durability of the workflow that a step calls, or of the next call outside of all steps. */
  nextCall(step: OpenStep | null): RunDurability {
    if (step === null && this.#steps !== null)
      throw new Error('A firing that takes steps must call workflows within steps.')
    return this.#durability.forCall(this.#firing, step?.call ?? this.calls.nextNumber())
  }

  takeStep(name: string): Promise<OpenStep> {
    return this.#openSteps.begin(name)
  }

  /** Does nothing after the end of the firing. */
  async keep(name: string, value: unknown): Promise<void> {
    if (!this.#journal.hasEnded) await this.#openSteps.keep(name, value)
  }

  findKept(name: string): { readonly value: unknown } | null {
    return this.#openSteps.findKept(name)
  }

  isStepInterrupted(name: string): boolean {
    return this.#openSteps.isInterrupted(name)
  }

  recordFailure(next_at: number): void {
    const { failed, forgiven, calls } = this.failedAttempts
    this.#random = null
    this.#steps?.restart()
    this.failedAttempts = { failed: failed + 1, forgiven, calls: this.#calls?.count ?? calls, next_at }
    this.#journal.attempt(this.failedAttempts)
  }

  beginNext(): Promise<void> {
    return this.#firing.commitStart()
  }

  /** Releases the records of steps after the end of the firing. */
  releaseSteps(): void {
    this.#steps = null
    this.#knownSteps = NO_STEPS
  }

  /** Halts all calls, as no consumer wants the firing any more. */
  drop(): void {
    this.#calls?.drop()
  }

  get #openSteps(): FiringSteps {
    this.#steps ??= new FiringSteps(this.#knownSteps, this.calls, this.#journal)
    return this.#steps
  }
}
