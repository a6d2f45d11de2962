// The failures of one run: decides which of them a Catch receives and which fails the run, and reports them.
import type { CaughtFailure, Journal } from '../../durability/journal.ts'
import { NodeInterruptedError } from '../../node-api/node-error.ts'
import { toPublicError } from '../firings/result-validation.ts'
import { addPathToMessage, type IndexPath } from '../streams/position.ts'
import { FailureToken } from '../streams/tokens.ts'
import type { ObservedNode, RunError, RunObserver } from './observer.ts'
import type { RunParticipant } from './participant.ts'
import type { RunState } from './state.ts'

/** The limit of logged caught failures per node. */
const MAX_LOGGED_FAILURES = 20

export class RunFailures {
  readonly #state: RunState
  readonly #observer: RunObserver
  readonly #journal: Journal | null

  constructor(state: RunState, observer: RunObserver, journal: Journal | null) {
    this.#state = state
    this.#observer = observer
    this.#journal = journal
  }

  /** The run's error from before an interruption, or null. */
  recallError(): RunError | null {
    return this.#journal && !this.#journal.isBlank ? this.#journal.recallFailure() : null
  }

  /** Returns the failure if a Catch receives it; otherwise the run fails, and the result is null. */
  fail(executor: RunParticipant, error: unknown, path: IndexPath): FailureToken | null {
    if (this.#state.stopped) return null
    const { node } = executor
    const { type, message: publicMessage, cause, isNodeMessage } = toPublicError(error)
    const message = addPathToMessage(publicMessage, path)
    const holds = !(error instanceof NodeInterruptedError)
    if (holds && (node.leadsToCatch || executor.isUnwanted)) {
      if (!executor.isUnwanted) this.#catchFailure(executor, message, cause, isNodeMessage)
      return new FailureToken(node.observed, type, message)
    }
    const runError = { node_id: node.observed.node_id, type, message }
    this.#state.fail(runError)
    this.#journal?.fail(runError)
    if (cause !== undefined) this.#observer.fault(node.observed, cause, isNodeMessage)
    this.reportError(node.observed, message)
    return null
  }

  /** Reports the failed node of the run. */
  reportError(node: ObservedNode, message: string): void {
    this.#observer.nodeUpdated(node, 'error', { error: message })
  }

  /** Restores a caught failure from before an interruption. */
  restoreCaught(executor: RunParticipant, { type, message }: CaughtFailure): FailureToken {
    this.#catchFailure(executor, message, undefined, true)
    return new FailureToken(executor.node.observed, type, message)
  }

  #catchFailure(executor: RunParticipant, message: string, cause: unknown, isNodeMessage: boolean): void {
    executor.lastFailureMessage = message
    const { observed } = executor.node
    if (cause !== undefined) this.#observer.fault(observed, cause, isNodeMessage)
    executor.failureCount++
    if (executor.failureCount > MAX_LOGGED_FAILURES) return
    const more = executor.failureCount === MAX_LOGGED_FAILURES ? ' Further failures of this node are not logged.' : ''
    this.#observer.log(observed, 'warning', `Failed, and a Catch received the failure: ${message}${more}`)
  }
}
