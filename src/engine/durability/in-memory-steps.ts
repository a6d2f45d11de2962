// The steps of a firing in a run without a journal: known while the firing is under way, over all of its attempts. See law 65 in
// ../README.md.
import { type AttemptJournal, NO_FAILED_ATTEMPTS } from '../runtime/firings/attempts.ts'
import { FiringCalls } from '../runtime/firings/calls.ts'
import { FiringSteps, NO_STEPS, type OpenStep, type StepJournal, type StepStore } from './firing-steps.ts'

/** Records nothing. */
const NO_JOURNAL: StepJournal = { async step() {}, async stepEnd() {}, async stepWithEnd() {} }

export class InMemorySteps implements StepStore, AttemptJournal {
  readonly failedAttempts = NO_FAILED_ATTEMPTS
  /** Created with the first step. */
  #steps: FiringSteps | null = null

  takeStep(name: string): Promise<OpenStep> {
    return this.#openSteps.begin(name)
  }

  keep(name: string, value: unknown): Promise<void> {
    return this.#openSteps.keep(name, value)
  }

  findKept(name: string): { readonly value: unknown } | null {
    return this.#steps?.findKept(name) ?? null
  }

  recordFailure(): void {
    this.#steps?.restart()
  }

  async beginNext(): Promise<void> {}

  get #openSteps(): FiringSteps {
    // A run without a journal is never suspended, so its calls need not report when they wait.
    this.#steps ??= new FiringSteps(NO_STEPS, new FiringCalls(() => {}, 0), NO_JOURNAL)
    return this.#steps
  }
}
