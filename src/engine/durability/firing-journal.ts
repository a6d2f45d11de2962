// What one firing tells the journal: nothing after its end, nothing once its run is over, and where the journal fails, the run does.

import { NodeError, type OutputValues } from '../node-api/node-type.ts'
import type { FailedAttempts, FiringEnd, Journal, WaitRequest } from './journal.ts'
import type { FiringSite } from './run-durability.ts'

/** The run, as a firing that tells of itself sees it. */
interface JournaledRun {
  readonly stopped: boolean
  readonly settled: boolean
  breakDown(fault: unknown): void
}

export class FiringJournal {
  readonly #journal: Journal | null
  readonly #site: FiringSite
  readonly #run: JournaledRun
  hasEnded = false

  constructor(journal: Journal | null, site: FiringSite, run: JournaledRun) {
    this.#journal = journal
    this.#site = site
    this.#run = run
  }

  /** Resolves when the start is committed. Rejects where that can not be, which fails the run, and where the run has stopped. */
  async start(): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.start(node_id, place))
    if (this.#run.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }

  /** Resolves when the begin of a step is committed. Rejects as `start` does. */
  async step(name: string, call: number): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.step(node_id, place, name, call))
    if (this.#run.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }

  /** Resolves when the end of a step is committed. Where that can not be, the run fails. */
  async stepEnd(name: string, value: unknown): Promise<void> {
    await this.#commit((journal, node_id, place) => journal.stepEnd(node_id, place, name, value))
  }

  /** Resolves when a step that ended as it began is committed: both or neither. Where that can not be, the run fails, unless it has stopped. */
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
    const { node, pathText: place } = this.#site
    try {
      await tell(this.#journal, node.observed.node_id, place)
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
    const { node, pathText: place } = this.#site
    try {
      tell(this.#journal, node.observed.node_id, place)
    } catch (fault) {
      this.#run.breakDown(fault)
    }
  }
}
