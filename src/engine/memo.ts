// One firing as it is remembered: what is known of it from before, and what is to be known after it. Pure synchronous firings leave
// nothing: they come out the same when they are done again.
import { type AttemptMemory, UNTRIED } from './attempts.ts'
import { asSource, type FiringMemory, isThenable } from './firing.ts'
import { FiringCalls } from './firing-calls.ts'
import type { FiringEnd, Remembered, RememberedStep, WaitRequest } from './journal.ts'
import type { Memory, Site } from './memory.ts'
import { isRetrySafe } from './metadata.ts'
import {
  type Aggregate,
  type Inputs,
  Interrupted,
  type NodeContext,
  NodeError,
  type Outputs,
  Wait,
} from './node-type.ts'
import type { Brittle } from './parking.ts'
import { type Path, placed } from './place.ts'
import type { PlanNode } from './plan-parts.ts'
import { rememberedItems } from './remembered-items.ts'
import { cannotWait, checkedOutputs, publicError } from './results.ts'
import { callsOf, FiringSteps, NO_STEPS, type OpenStep, type StepKeeper } from './steps.ts'
import { Telling } from './telling.ts'
import type { Failure } from './tokens.ts'

/** The node and the run of a firing, as its memory sees them. */
export interface MemoHost {
  readonly stopped: boolean
  readonly settled: boolean
  /** Whether firings in flight were told to end. */
  readonly aborted: boolean
  /** Whether nobody wants what the node gives at present. */
  readonly unwanted: boolean
  random(): number
  /** The firing waits for nothing but the workflows that it calls, or goes on. */
  stilled(still: boolean): void
  /** The firing would be interrupted where it may not be. */
  interrupt(error: Interrupted, path: Path): void
  breakDown(fault: unknown): void
}

const NEVER = (_ms: number): boolean => false

/** How long a run that has to wait fetches a stream that can go on if need be. */
const HURRY_MS = 10_000

export class Memo implements Site, Brittle, FiringMemory, AttemptMemory, StepKeeper {
  readonly node: PlanNode
  path: Path
  /** Its own context, once it has one. */
  context: NodeContext | null = null
  inputs: Inputs
  /** Whether it may be run again where it was interrupted. */
  safe: boolean
  /** Its node's code took something from outside of its inputs. */
  touched = false
  /** It said something to those who watch: that is the words of this firing alone. */
  spoke = false
  /** It may not any more: what it gave before was not remembered. */
  sealed = false
  /** The items that its stream gave before an interruption. */
  known: Remembered['items'] = []
  /** The steps that it had taken before an interruption. */
  knownSteps: ReadonlyMap<string, RememberedStep> = NO_STEPS
  /** Its attempts that failed, those before an interruption included. */
  tried = UNTRIED
  /** What comes later of it is not remembered for that: it follows from its inputs alone. */
  repeatable = false
  fetchAll = NEVER
  busy = false
  /** Resolves when an aggregate that has to wait for its start is open. */
  opening: Promise<void> | null = null
  readonly #host: MemoHost
  readonly #memory: Memory
  readonly #telling: Telling
  /** Its end is remembered whatever it took: it came later, has an effect, or must not run twice. */
  #lasting: boolean
  #place: string | null = null
  #streams = false
  #waits = false
  #dropped = false
  #dice: (() => number) | null = null
  #calls: FiringCalls | null = null
  #steps: FiringSteps | null = null

  constructor(node: PlanNode, host: MemoHost, memory: Memory, path: Path, inputs: Inputs) {
    this.node = node
    this.path = path
    this.#host = host
    this.#memory = memory
    this.#telling = new Telling(memory.journal, this, host)
    this.inputs = inputs
    this.safe = isRetrySafe(this.node.type, inputs)
    this.#lasting = !this.safe || this.node.type.effect === true
  }

  /** Begins the next firing of the node, where this one left nothing behind. False: it did. */
  renew(path: Path, inputs: Inputs): boolean {
    if (
      this.#lasting ||
      this.repeatable ||
      this.touched ||
      this.spoke ||
      this.#streams ||
      this.#waits ||
      this.#calls !== null
    )
      return false
    this.path = path
    this.inputs = inputs
    this.safe = isRetrySafe(this.node.type, inputs)
    this.#lasting = !this.safe
    this.#place = null
    this.#dice = null
    return true
  }

  get place(): string {
    this.#place ??= this.path === null ? '' : this.path.join('.')
    return this.#place
  }

  /** Has what is known of it read where that takes long; null: it does not. */
  prepareRecall(): Promise<void> | null {
    const { journal } = this.#memory
    if (!journal || journal.blank) return null
    return journal.prepareRecall?.(this.node.observed.node_id, this.place) ?? null
  }

  /** What is known of it. Asked once. One whose end is known has nothing more to tell: that nobody wants it now does not take its place. */
  recall(): Remembered | null {
    const { journal } = this.#memory
    if (!journal || journal.blank) return null
    const known = journal.recall(this.node.observed.node_id, this.place)
    if (known?.end) this.#telling.ended = true
    return known
  }

  /** Whether its stream may be opened anew, and go on behind the items that came before. */
  get repeats(): boolean {
    return this.safe && (this.node.type.repeats === true || this.resumes)
  }

  /** Whether its stream goes on behind what it gave by itself. */
  get resumes(): boolean {
    return this.node.type.resumes === true
  }

  get mayWait(): boolean {
    return this.#memory.journal !== null && this.node.type.answered !== undefined
  }

  /** Whether what it gives is remembered. */
  get keeps(): boolean {
    return this.#memory.journal !== null && (this.#lasting || this.touched)
  }

  random(): number {
    this.#dice ??= this.#memory.dice(this, this.tried.failed) ?? (() => this.#host.random())
    return this.#dice()
  }

  /** The workflows that it calls. */
  get calls(): FiringCalls {
    const made = () => Math.max(this.tried.calls, callsOf(this.knownSteps))
    this.#calls ??= new FiringCalls((still) => this.#host.stilled(still), made())
    return this.#calls
  }

  /** Whether it waits for nothing but workflows that it called, none of which goes on by itself. */
  get resting(): boolean {
    return this.#calls?.resting === true
  }

  /** The memory of the workflow that a step calls, or of the next one that is called outside of all steps. */
  nextCall(step: OpenStep | null): Memory {
    if (step === null && this.#steps !== null)
      throw new Error('A firing that takes steps calls workflows in them alone.')
    return this.#memory.within(this, step?.call ?? this.calls.next())
  }

  /** Begins a step of it. */
  takeStep(name: string): Promise<OpenStep> {
    return this.#taken.begin(name)
  }

  /** Without effect once it has ended. */
  async keep(name: string, value: unknown): Promise<void> {
    if (!this.#telling.ended) await this.#taken.keep(name, value)
  }

  kept(name: string): { readonly value: unknown } | null {
    return this.#taken.kept(name)
  }

  stepInterrupted(name: string): boolean {
    return this.#taken.interrupted(name)
  }

  /** Its steps. */
  get #taken(): FiringSteps {
    this.#steps ??= new FiringSteps(this.knownSteps, this.calls, this.#telling)
    return this.#steps
  }

  /** Runs its code; of one that is not safe to run again once its start is committed. */
  run(code: () => unknown): unknown {
    if (this.safe || this.#memory.journal === null) return this.guard(code)
    return this.#later(this.#begin(code))
  }

  triedAgain(next_at: number): void {
    const { failed, forgiven, calls } = this.tried
    this.#dice = null
    this.#steps?.again()
    this.tried = { failed: failed + 1, forgiven, calls: this.#calls?.made ?? calls, next_at }
    this.#telling.attempt(this.tried)
  }

  async restart(): Promise<void> {
    if (!this.safe && this.#memory.journal !== null) await this.#begin(() => {})
  }

  /** What it gives for an answer. */
  answered(value: unknown): unknown {
    return this.guard(() => this.node.type.answered!(this.inputs, value, this.context!))
  }

  /** Runs one step of its code, which gives nothing yet. */
  step<T>(code: () => T): T {
    try {
      const given = code()
      if (isThenable(given)) this.#lasting = true
      return given
    } catch (error) {
      this.failed(error)
      throw error
    }
  }

  /** Opens an aggregate; one that must not run twice once its start is committed. */
  open(code: () => Aggregate): Aggregate {
    if (this.safe || this.#memory.journal === null) return this.step(code)
    const begun = this.#begin(code)
    // Where it fails, its steps say so.
    this.opening = begun.then(
      () => {},
      () => {},
    )
    return { push: async (value) => (await begun).push(value), end: async () => (await begun).end() }
  }

  item(item: Outputs): void {
    if (this.#telling.ended) return
    if (!this.repeats || this.node.type.timely) this.#memory.parking?.brittle.add(this)
    this.#telling.item(item)
  }

  end(end: FiringEnd): void {
    if (this.#telling.ended || !this.keeps) return
    this.#telling.end(end)
    this.#steps = null
    this.knownSteps = NO_STEPS
    this.#over()
  }

  get hopeful(): boolean {
    return this.repeats
  }

  hasten(): boolean {
    return this.fetchAll(this.hopeful ? HURRY_MS : Number.POSITIVE_INFINITY)
  }

  refuse(): void {
    const { node_id } = this.node.observed
    const text = `The run has to wait, and node "${node_id}" could not go on from where it stands.`
    this.#host.interrupt(new Interrupted(text), this.path)
  }

  /** A failure stands for it. */
  failedWith({ node_id, node_type, type, message }: Failure): void {
    const own = node_id === this.node.observed.node_id
    this.end({ failure: own ? { type, message } : { type, message, from: { node_id, node_type } } })
  }

  /** Its code threw. Where nothing holds that, the run ends with it, which the run itself tells. */
  failed(error: unknown): void {
    const host = this.#host
    if (!this.keeps || host.aborted || error instanceof Interrupted) return
    const halted = error instanceof NodeError && error.type === 'cancelled'
    if (halted && (host.stopped || this.#dropped)) return
    if (this.#dropped || host.unwanted) {
      this.end({ unwanted: true })
      return
    }
    if (!this.node.leadsToCatch) return
    const { type, message } = publicError(error)
    this.end({ failure: { type, message: placed(message, this.path) } })
  }

  /** It waits. Gives what takes it from the list of those who do. `told`: that is known already. */
  wait(request: WaitRequest, told: boolean, answer: (value: unknown) => boolean): () => void {
    if (!told) this.#telling.wait(request)
    return this.#memory.park(this, request, answer)
  }

  /** Nobody wants it any more. */
  drop(): void {
    if (this.#dropped) return
    this.#dropped = true
    if (this.#streams) this.end({ unwanted: true })
    this.#calls?.drop()
  }

  interrupted(): Interrupted {
    const { node_id } = this.node.observed
    const half = ' half-way through its stream, and can not go on there'
    const how = this.known.length > 0 ? half : ', and is not safe to run twice'
    return new Interrupted(`Node "${node_id}" was interrupted${how}.`)
  }

  /** Runs the code that gives its end. */
  guard(code: () => unknown): unknown {
    try {
      const given = code()
      return isThenable(given) ? this.#later(given) : this.#judged(given)
    } catch (error) {
      this.failed(error)
      throw error
    }
  }

  async #later(promise: PromiseLike<unknown>): Promise<unknown> {
    if (!this.repeatable) this.#lasting = true
    this.busy = true
    try {
      return this.#judged(await promise)
    } catch (error) {
      this.failed(error)
      this.#over()
      throw error
    } finally {
      this.busy = false
    }
  }

  /** It stands in nobody's way any more. */
  #over(): void {
    this.#memory.parking?.brittle.delete(this)
  }

  async #begin<T>(code: () => T): Promise<T> {
    await this.#telling.start()
    this.#memory.parking?.brittle.add(this)
    return code()
  }

  /** What it gave, remembered where it is to be; of a stream, what remembers its items. */
  #judged(given: unknown): unknown {
    if (given instanceof Wait) return this.#waiting(given)
    const source = asSource(given)
    if (source) {
      this.#streams = true
      this.#lasting ||= !source.sync
      // A stream that came when nobody wanted it any more is never opened.
      if (this.#dropped) this.end({ unwanted: true })
      return rememberedItems(source, this)
    }
    const outputs = checkedOutputs(this.node, given)
    this.end({ outputs })
    return outputs
  }

  /** What it took before it waits is in its request; only what comes after counts for its end. */
  #waiting(wait: Wait): Wait {
    if (!this.mayWait) throw cannotWait(this.node)
    this.#waits = true
    this.#lasting = !this.safe || this.node.type.effect === true
    this.touched = false
    this.#over()
    return wait
  }
}
