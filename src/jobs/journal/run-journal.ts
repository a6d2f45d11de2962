// The memory of a job as its run sees it: firings have names that are unique within the job, those of called workflows included.
import type { FailedAttempts, FiringEnd, FiringHistory, Journal, WaitRequest } from '../../engine/durability/journal.ts'
import type { OutputValues } from '../../engine/node-api/node-type.ts'
import type { RunError } from '../../engine/runtime/run/observer.ts'
import type { JournalEntry } from './entry.ts'

/** A firing, by the parts of its name. */
export interface FiringName {
  /** All of its name. */
  readonly firing: string
  /** The name of the firing that called the workflow it is in; null in the job's own graph. */
  readonly caller: string | null
  /** What its name has before the node: `caller`, and which of its calls; empty in the job's own graph. */
  readonly scope: string
  readonly node_id: string
  /** Its index path as text, as `Journal` has it. */
  readonly path: string
}

/** One firing of a name: its node as JSON text, its path and, where it stands in a scope, which of its calls. */
const NAME_SEGMENT = /("[^"\\]*(?:\\.[^"\\]*)*")([\d.]*)(#\d+\/)?/gy

/** Takes a name apart that `JobJournal` made. */
export function parseFiringName(firing: string): FiringName {
  const links = [...firing.matchAll(NAME_SEGMENT)]
  const [calling, last] = [links.at(-2), links.at(-1)]
  if (!last || last[3] || links.map(([text]) => text).join('') !== firing)
    throw new Error(`no name of a firing: ${firing}`)
  const scope = firing.slice(0, last.index)
  const caller = calling ? scope.slice(0, scope.length - calling[3]!.length) : null
  return { firing, caller, scope, node_id: JSON.parse(last[1]!) as string, path: last[2]! }
}

/** Which of its caller's calls a workflow of that scope is. */
export function parseCallIndex(scope: string, caller: string): number {
  return Number(scope.slice(caller.length + 1, -1))
}

/** What a run tells its job. */
export interface RunJournalHost {
  /** The failure that the job's own run, or the called workflow of that scope, had come to. */
  recallFailure(scope: string): RunError | null
  recall(firing: string): FiringHistory | null
  /** Reads what is large of a firing, before that; null: nothing is. It does not reject. */
  prepareRecall(firing: string): Promise<void> | null
  /** Keeps an entry, to be committed soon. */
  remember(entry: JournalEntry): void
  /** Keeps an entry; resolves when it is committed. */
  rememberDurably(entry: JournalEntry): Promise<void>
  /** Resolves when all entries that were kept until now are committed; null: they are already. Rejects where they cannot be. */
  remembered(): Promise<void> | null
}

/** Names are `<scope>"node"2.0`; the scope of a called workflow is the name of the firing that calls it, and which of its calls it is. */
export class RunJournal implements Journal {
  readonly isBlank: boolean
  readonly #host: RunJournalHost
  readonly #scope: string

  /** `blank`: the job remembers nothing of an earlier run. */
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
