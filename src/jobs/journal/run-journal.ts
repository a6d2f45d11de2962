// The journal of a job as its run sees it. Names of firings are unique within the job, including the firings of called workflows.
import type { FailedAttempts, FiringEnd, FiringHistory, Journal, WaitRequest } from '../../engine/durability/journal.ts'
import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import type { JournalEntry } from './entry.ts'

/** The name of a firing, split into its parts. */
export interface FiringName {
  /** The full name. */
  readonly firing: string
  /** The name of the firing that called the workflow of this firing; null in the job's own graph. */
  readonly caller: string | null
  /** The part of the name before the node: `caller` and the number of its call. It is empty in the job's own graph. */
  readonly scope: string
  readonly node_id: string
  /** The index path as text, in the form of `Journal`. */
  readonly path: string
}

/** One segment of a name: the node as JSON text, its path and, for a caller, the number of its call. */
const NAME_SEGMENT = /("[^"\\]*(?:\\.[^"\\]*)*")([\d.]*)(#\d+\/)?/gy

/** Parses a name that `RunJournal` made. */
export function parseFiringName(firing: string): FiringName {
  const links = [...firing.matchAll(NAME_SEGMENT)]
  const [calling, last] = [links.at(-2), links.at(-1)]
  if (!last || last[3] || links.map(([text]) => text).join('') !== firing)
    throw new Error(`not the name of a firing: ${firing}`)
  const scope = firing.slice(0, last.index)
  const caller = calling ? scope.slice(0, scope.length - calling[3]!.length) : null
  return { firing, caller, scope, node_id: JSON.parse(last[1]!) as string, path: last[2]! }
}

/** The number of the call that opened the scope, counted per caller. */
export function parseCallIndex(scope: string, caller: string): number {
  return Number(scope.slice(caller.length + 1, -1))
}

/** The part of a job that its run reads from and writes to. */
export interface RunJournalHost {
  /** The stored failure of the job's own run, or of the called workflow with that scope. */
  recallFailure(scope: string): RunError | null
  recall(firing: string): FiringHistory | null
  /** Reads the large values of a firing before `recall`. It returns null where there are none, and it does not reject. */
  prepareRecall(firing: string): Promise<void> | null
  /** Stages an entry for the next commit. */
  remember(entry: JournalEntry): void
  /** Stages an entry, and resolves when it is committed. */
  rememberDurably(entry: JournalEntry): Promise<void>
  /** Resolves when all entries staged until now are committed; null: they are committed already. It rejects where the commit fails. */
  remembered(): Promise<void> | null
}

/** Names are `<scope>"node"2.0`. The scope of a called workflow is the name of the calling firing and the number of its call. */
export class RunJournal implements Journal {
  readonly isBlank: boolean
  readonly #host: RunJournalHost
  readonly #scope: string

  /** `blank`: the journal has nothing of an earlier run. */
  constructor(host: RunJournalHost, blank: boolean, scope = '') {
    this.#host = host
    this.isBlank = blank
    this.#scope = scope
  }

  formatName(node_id: string, path: string): string {
    return `${this.#scope}${JSON.stringify(node_id)}${path}`
  }

  recallFailure(): RunError | null {
    return this.#host.recallFailure(this.#scope)
  }

  fail(error: RunError): void {
    this.#host.remember(['failure', this.#scope, error])
  }

  recall(node_id: string, path: string): FiringHistory | null {
    return this.#host.recall(this.formatName(node_id, path))
  }

  prepareRecall(node_id: string, path: string): Promise<void> | null {
    return this.#host.prepareRecall(this.formatName(node_id, path))
  }

  start(node_id: string, path: string): Promise<void> {
    return this.#host.rememberDurably(['start', this.formatName(node_id, path)])
  }

  step(node_id: string, path: string, name: string, call: number): Promise<void> {
    return this.#host.rememberDurably(['step', this.formatName(node_id, path), name, { call, begun: true }])
  }

  stepEnd(node_id: string, path: string, name: string, value: unknown): Promise<void> {
    return this.#host.rememberDurably(['done', this.formatName(node_id, path), name, value])
  }

  attempt(node_id: string, path: string, attempts: FailedAttempts): void {
    this.#host.remember(['attempt', this.formatName(node_id, path), attempts])
  }

  item(node_id: string, path: string, item: OutputValues): void {
    this.#host.remember(['item', this.formatName(node_id, path), item])
  }

  end(node_id: string, path: string, end: FiringEnd): void {
    this.#host.remember(['end', this.formatName(node_id, path), end])
  }

  wait(node_id: string, path: string, request: WaitRequest): void {
    this.#host.remember(['wait', this.formatName(node_id, path), request])
  }

  whenDurable(): Promise<void> | null {
    return this.#host.remembered()
  }

  forCall(node_id: string, path: string, call: number): Journal {
    return new RunJournal(this.#host, this.isBlank, `${this.formatName(node_id, path)}#${call}/`)
  }
}
