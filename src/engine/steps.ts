// The steps of one firing: pieces of its work that are remembered one by one, so that a firing that is run again does none of them twice
// that had ended. Law 61 and following of the README beside this file.
import type { HaltedLater } from './call.ts'
import type { FiringCalls } from './firing-calls.ts'
import type { RememberedStep } from './journal.ts'

/** What a firing tells of its steps; all resolve when it is committed. */
export interface StepTelling {
  step(name: string, call: number): Promise<void>
  stepEnd(name: string, value: unknown): Promise<void>
  /** A step that ended as it began. */
  stepKept(name: string, call: number, value: unknown): Promise<void>
}

/** Who knows the steps of a firing over its attempts. */
export interface StepKeeper {
  /** Begins a step of it. */
  takeStep(name: string): Promise<OpenStep>
  keep(name: string, value: unknown): Promise<void>
  /** What a step came to, or null. */
  kept(name: string): { readonly value: unknown } | null
}

export const NO_STEPS: ReadonlyMap<string, RememberedStep> = new Map()

/** One step, from its begin to its end. */
export class OpenStep implements HaltedLater {
  /** Which of the firing's calls it makes. */
  readonly call: number
  readonly known: { readonly value: unknown } | null
  readonly interrupted: boolean
  readonly #steps: FiringSteps
  readonly #name: string
  /** The call that it waits for. */
  called: HaltedLater | null = null

  constructor(steps: FiringSteps, name: string, from: RememberedStep) {
    this.#steps = steps
    this.#name = name
    this.call = from.call
    this.known = from.end
    this.interrupted = from.begun && from.end === null
  }

  async end(value: unknown): Promise<void> {
    await this.#steps.ended(this, this.#name, value)
  }

  /** It is over, whether or not it came to its end. */
  leave(): void {
    this.#steps.left(this)
  }

  get resting(): boolean {
    return this.called?.resting === true
  }

  halt(): void {
    this.called?.halt()
  }

  wake(): void {
    this.called?.wake()
  }
}

export class FiringSteps {
  readonly #known: Map<string, RememberedStep>
  readonly #calls: FiringCalls
  readonly #telling: StepTelling
  readonly #asked = new Set<string>()
  readonly #open = new Set<OpenStep>()

  constructor(known: ReadonlyMap<string, RememberedStep>, calls: FiringCalls, telling: StepTelling) {
    this.#known = new Map(known)
    this.#calls = calls
    this.#telling = telling
  }

  /** Resolves when its begin is committed, so that it can never be done without being known; with one that had ended, at once. */
  async begin(name: string): Promise<OpenStep> {
    if (this.#asked.has(name)) throw new Error(`A firing has two steps of the name "${name}".`)
    this.#asked.add(name)
    const known = this.#known.get(name) ?? { call: this.#calls.next(), begun: false, end: null }
    const step = new OpenStep(this, name, known)
    if (known.end) return step
    // The firing can go on meanwhile, but for what the step waits for itself.
    this.#open.add(step)
    this.#calls.note(step, false)
    if (!known.begun) await this.#telling.step(name, known.call)
    return step
  }

  async ended(step: OpenStep, name: string, value: unknown): Promise<void> {
    if (!this.#open.has(step)) return
    this.#known.set(name, { call: step.call, begun: true, end: { value } })
    await this.#telling.stepEnd(name, value)
    this.left(step)
  }

  /** A step that ends as it begins. It counts for all attempts, whether or not its own is over. */
  async keep(name: string, value: unknown): Promise<void> {
    const known = this.#known.get(name)
    if (known?.begun || known?.end || this.#asked.has(name))
      throw new Error(`A firing keeps two things of the name "${name}".`)
    const call = known?.call ?? this.#calls.next()
    this.#known.set(name, { call, begun: true, end: { value } })
    await this.#telling.stepKept(name, call, value)
  }

  /** What a step came to, or null. */
  kept(name: string): { readonly value: unknown } | null {
    return this.#known.get(name)?.end ?? null
  }

  /** Whether a step that is not asked for yet had begun before an interruption, and had not ended. */
  interrupted(name: string): boolean {
    const known = this.#known.get(name)
    return known?.begun === true && known.end === null
  }

  left(step: OpenStep): void {
    if (this.#open.delete(step)) this.#calls.over(step)
  }

  /** Another attempt begins: it finds those that had ended, and nothing of the others. */
  again(): void {
    for (const step of [...this.#open]) this.left(step)
    for (const [name, { end }] of this.#known) if (!end) this.#known.delete(name)
    this.#asked.clear()
  }
}

/** The number of the first call that no step of these has. */
export function callsOf(steps: ReadonlyMap<string, RememberedStep>): number {
  return [...steps.values()].reduce((most, { call }) => Math.max(most, call + 1), 0)
}
