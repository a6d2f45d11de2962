// What one firing tells the journal: nothing after its end, nothing once its run is over, and where the journal fails, the run does.
import type { FailedAttempts, FiringEnd, Journal, WaitRequest } from './journal.ts'
import type { Site } from './memory.ts'
import { NodeError, type Outputs } from './node-type.ts'

/** The run, as a firing that tells of itself sees it. */
interface Told {
  readonly stopped: boolean
  readonly settled: boolean
  breakDown(fault: unknown): void
}

export class Telling {
  readonly #journal: Journal | null
  readonly #site: Site
  readonly #run: Told
  ended = false

  constructor(journal: Journal | null, site: Site, run: Told) {
    this.#journal = journal
    this.#site = site
    this.#run = run
  }

  /** Resolves when the start is committed. Rejects where that can not be, which fails the run, and where the run has stopped. */
  async start(): Promise<void> {
    const { node, place } = this.#site
    try {
      await this.#journal!.start(node.observed.node_id, place)
    } catch (fault) {
      this.#run.breakDown(fault)
    }
    if (this.#run.stopped) throw new NodeError('The run has stopped.', 'cancelled')
  }

  attempt(attempts: FailedAttempts): void {
    this.#tell((journal, node_id, place) => journal.attempt(node_id, place, attempts))
  }

  item(item: Outputs): void {
    this.#tell((journal, node_id, place) => journal.item(node_id, place, item))
  }

  end(end: FiringEnd): void {
    this.#tell((journal, node_id, place) => journal.end(node_id, place, end))
    this.ended = true
  }

  wait(request: WaitRequest): void {
    this.#tell((journal, node_id, place) => journal.wait(node_id, place, request))
  }

  #tell(tell: (journal: Journal, node_id: string, place: string) => void): void {
    if (this.ended || this.#journal === null || this.#run.settled) return
    const { node, place } = this.#site
    try {
      tell(this.#journal, node.observed.node_id, place)
    } catch (fault) {
      this.#run.breakDown(fault)
    }
  }
}
