// The failures of one run: which of them a Catch holds, what is said of them, and the one with which the run ends.
import type { HeldFailure } from './journal.ts'
import { Interrupted } from './node-error.ts'
import type { RunError, RunObserver } from './observer.ts'
import type { Member } from './performer.ts'
import { type Path, placed } from './place.ts'
import { publicError } from './results.ts'
import { Failure } from './tokens.ts'

/** How many held failures of one node are logged. */
const TOLD_FAILURES = 20

export class Failures {
  readonly #observer: RunObserver
  /** What the run fails with. */
  error: RunError | null = null

  constructor(observer: RunObserver) {
    this.#observer = observer
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
    if (cause !== undefined) this.#observer.fault(node.observed, cause, told)
    this.#observer.nodeUpdated(node.observed, 'error', { error: message })
    return null
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
