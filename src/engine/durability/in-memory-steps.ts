// The steps of a firing in a run without a journal: they are known as long as the firing is under way, over all its attempts. Law 65 of the
// README beside this file.
import { type AttemptJournal, NO_FAILED_ATTEMPTS } from '../runtime/firings/attempts.ts'
import { FiringCalls } from '../runtime/firings/calls.ts'
import { FiringSteps, NO_STEPS, type OpenStep, type StepJournal, type StepStore } from './firing-steps.ts'

/** There is nobody to tell. */
const NO_JOURNAL: StepJournal = { async step() {}, async stepEnd() {}, async stepWithEnd() {} }

export class InMemorySteps implements StepStore, AttemptJournal {
  readonly failedAttempts = NO_FAILED_ATTEMPTS
  /** Made with the first step. */
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
    // Nothing rests in a run without a journal: nobody asks what its calls wait for.
    this.#steps ??= new FiringSteps(NO_STEPS, new FiringCalls(() => {}, 0), NO_JOURNAL)
    return this.#steps
  }
}
