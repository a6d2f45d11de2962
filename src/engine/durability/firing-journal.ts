// The journal calls of one firing: none after its end, and none after the end of its run. A journal error fails the run.

import type { OutputValues } from '../node-api/firing-forms.ts'
import { NodeError } from '../node-api/node-error.ts'
import type { RunState } from '../runtime/run/state.ts'
import type { FailedAttempts, FiringEnd, Journal, WaitRequest } from './journal.ts'
import type { FiringSite } from './run-durability.ts'

export class FiringJournal {
  readonly #journal: Journal | null
  readonly #site: FiringSite
  readonly #run: RunState
  hasEnded = false

  constructor(journal: Journal | null, site: FiringSite, run: RunState) {
    this.#journal = journal
    this.#site = site
    this.#run = run
  }

  /** Resolves when the start is committed. Rejects if that fails, which fails the run, and if the run has stopped. */
  async start(): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.start(node_id, place))
    if (this.#run.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }

  /** Resolves when the begin of a step is committed. Rejects like `start`. */
  async step(name: string, call: number): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.step(node_id, place, name, call))
    if (this.#run.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }

  /** Resolves when the end of a step is committed. If that fails, the run fails. */
  async stepEnd(name: string, value: unknown): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.stepEnd(node_id, place, name, value))
  }

  /** Commits the begin and the end of a step together: both or neither. If that fails, the run fails unless it has stopped. */
  async stepWithEnd(name: string, call: number, value: unknown): Promise<void> {
    await this.#commit(async (journal, node_id, place) => {
      try {
        await Promise.all([journal.step(node_id, place, name, call), journal.stepEnd(node_id, place, name, value)])
      } catch (fault) {
        if (!this.#run.stopped) throw fault
      }
    })
  }

  async #commit(tell: (journal: Journal, node_id: string, place: string) => Promise<void>): Promise<void> {
    if (this.hasEnded || this.#journal === null || this.#run.settled) return
    const { node, pathText } = this.#site
    try {
      await tell(this.#journal, node.observed.node_id, pathText)
    } catch (fault) {
      this.#run.breakDown(fault)
    }
  }

  attempt(attempts: FailedAttempts): void {
    this.#write((journal, node_id, place) => journal.attempt(node_id, place, attempts))
  }

  item(item: OutputValues): void {
    this.#write((journal, node_id, place) => journal.item(node_id, place, item))
  }

  end(end: FiringEnd): void {
    this.#write((journal, node_id, place) => journal.end(node_id, place, end))
    this.hasEnded = true
  }

  wait(request: WaitRequest): void {
    this.#write((journal, node_id, place) => journal.wait(node_id, place, request))
  }

  #write(tell: (journal: Journal, node_id: string, place: string) => void): void {
    if (this.hasEnded || this.#journal === null || this.#run.settled) return
    const { node, pathText } = this.#site
    try {
      tell(this.#journal, node.observed.node_id, pathText)
    } catch (fault) {
      this.#run.breakDown(fault)
    }
  }
}
