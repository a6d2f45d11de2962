// The failures of one run: which of them a Catch holds, what is said of them, and the one with which the run ends.
import type { HeldFailure, Journal } from './journal.ts'
import { Interrupted } from './node-error.ts'
import type { ObservedNode, RunError, RunObserver } from './observer.ts'
import type { Member } from './performer.ts'
import { type Path, placed } from './place.ts'
import { publicError } from './results.ts'
import { Failure } from './tokens.ts'

/** How many held failures of one node are logged. */
const TOLD_FAILURES = 20

export class Failures {
  readonly #observer: RunObserver
  readonly #journal: Journal | null
  /** What the run fails with. */
  error: RunError | null = null

  constructor(observer: RunObserver, journal: Journal | null) {
    this.#observer = observer
    this.#journal = journal
  }

  /** The failure that the run had come to before an interruption, or null. */
  recall(): RunError | null {
    this.error = this.#journal && !this.#journal.blank ? this.#journal.recallFailure() : null
    return this.error
  }

  /** The failure that stands for an error where it is held. Else the run is to `stop`, and it gives null. */
  judge(performer: Member, error: unknown, path: Path, stop: () => void): Failure | null {
    const { node } = performer
    const { type, message: bare, cause, told } = publicError(error)
    const message = placed(bare, path)
    const holds = !(error instanceof Interrupted)
    if (holds && (node.leadsToCatch || performer.unwanted)) {
      if (!performer.unwanted) this.#hold(performer, message, cause, told)
      return new Failure(node.observed, type, message)
    }
    stop()
    this.error = { node_id: node.observed.node_id, type, message }
    this.#journal?.fail(this.error)
    if (cause !== undefined) this.#observer.fault(node.observed, cause, told)
    this.tell(node.observed, message)
    return null
  }

  /** Says with which node the run fails. */
  tell(node: ObservedNode, message: string): void {
    this.#observer.nodeUpdated(node, 'error', { error: message })
  }

  /** Holds a failure again that was held before an interruption. */
  again(performer: Member, { type, message }: HeldFailure): Failure {
    this.#hold(performer, message, undefined, true)
    return new Failure(performer.node.observed, type, message)
  }

  #hold(performer: Member, message: string, cause: unknown, told: boolean): void {
    performer.failed = message
    const { observed } = performer.node
    if (cause !== undefined) this.#observer.fault(observed, cause, told)
    performer.failures++
    if (performer.failures > TOLD_FAILURES) return
    const more = performer.failures === TOLD_FAILURES ? ' Further failures of this node are not told.' : ''
    this.#observer.log(observed, 'warning', `Failed, and went on to a Catch: ${message}${more}`)
  }
}
