// The steps of a firing in a run without a journal: they are known as long as the firing is under way, over all its attempts. Law 65 of the
// README beside this file.
import { type AttemptMemory, UNTRIED } from './attempts.ts'
import { FiringCalls } from './firing-calls.ts'
import { FiringSteps, NO_STEPS, type OpenStep, type StepKeeper, type StepTelling } from './steps.ts'

/** There is nobody to tell. */
const UNTOLD: StepTelling = { async step() {}, async stepEnd() {}, async stepKept() {} }

export class PassingSteps implements StepKeeper, AttemptMemory {
  readonly tried = UNTRIED
  /** Made with the first step. */
  #steps: FiringSteps | null = null

  takeStep(name: string): Promise<OpenStep> {
    return this.#taken.begin(name)
  }

  keep(name: string, value: unknown): Promise<void> {
    return this.#taken.keep(name, value)
  }

  kept(name: string): { readonly value: unknown } | null {
    return this.#steps?.kept(name) ?? null
  }

  triedAgain(): void {
    this.#steps?.again()
  }

  async restart(): Promise<void> {}

  get #taken(): FiringSteps {
    // Nothing rests in a run without a journal: nobody asks what its calls wait for.
    this.#steps ??= new FiringSteps(NO_STEPS, new FiringCalls(() => {}, 0), UNTOLD)
    return this.#steps
  }
}
