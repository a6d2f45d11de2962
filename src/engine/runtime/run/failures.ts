// The failures of one run: which of them a Catch holds, what is said of them, and the one with which the run ends.
import type { CaughtFailure, Journal } from '../../durability/journal.ts'
import { NodeInterruptedError } from '../../node-api/node-error.ts'
import { toPublicError } from '../firings/result-validation.ts'
import { addPathToMessage, type IndexPath } from '../streams/position.ts'
import { FailureToken } from '../streams/tokens.ts'
import type { RunParticipant } from './node-interfaces.ts'
import type { ObservedNode, RunError, RunObserver } from './observer.ts'

/** How many held failures of one node are logged. */
const MAX_LOGGED_FAILURES = 20

export class RunFailures {
  readonly #observer: RunObserver
  readonly #journal: Journal | null
  /** What the run fails with. */
  error: RunError | null = null

  constructor(observer: RunObserver, journal: Journal | null) {
    this.#observer = observer
    this.#journal = journal
  }

  /** The failure that the run had come to before an interruption, or null. */
  recallError(): RunError | null {
    this.error = this.#journal && !this.#journal.isBlank ? this.#journal.recallFailure() : null
    return this.error
  }

  /** The failure that stands for an error where it is held. Else the run is to `stop`, and it gives null. */
  catchOrStop(executor: RunParticipant, error: unknown, path: IndexPath, stop: () => void): FailureToken | null {
    const { node } = executor
    const { type, message: bare, cause, isNodeMessage: told } = toPublicError(error)
    const message = addPathToMessage(bare, path)
    const holds = !(error instanceof NodeInterruptedError)
    if (holds && (node.leadsToCatch || executor.isUnwanted)) {
      if (!executor.isUnwanted) this.#catchFailure(executor, message, cause, told)
      return new FailureToken(node.observed, type, message)
    }
    stop()
    this.error = { node_id: node.observed.node_id, type, message }
    this.#journal?.fail(this.error)
    if (cause !== undefined) this.#observer.fault(node.observed, cause, told)
    this.reportError(node.observed, message)
    return null
  }

  /** Says with which node the run fails. */
  reportError(node: ObservedNode, message: string): void {
    this.#observer.nodeUpdated(node, 'error', { error: message })
  }

  /** Holds a failure again that was held before an interruption. */
  restoreCaught(executor: RunParticipant, { type, message }: CaughtFailure): FailureToken {
    this.#catchFailure(executor, message, undefined, true)
    return new FailureToken(executor.node.observed, type, message)
  }

  #catchFailure(executor: RunParticipant, message: string, cause: unknown, told: boolean): void {
    executor.lastFailureMessage = message
    const { observed } = executor.node
    if (cause !== undefined) this.#observer.fault(observed, cause, told)
    executor.failureCount++
    if (executor.failureCount > MAX_LOGGED_FAILURES) return
    const more = executor.failureCount === MAX_LOGGED_FAILURES ? ' Further failures of this node are not told.' : ''
    this.#observer.log(observed, 'warning', `Failed, and went on to a Catch: ${message}${more}`)
  }
}
