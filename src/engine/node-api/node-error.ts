// The errors of node code and of the engine.

/** An error whose message may be shown to the user who started the run. */
export class NodeError extends Error {
  readonly type: string
  constructor(message: string, type = 'node_error', options?: ErrorOptions) {
    super(message, options)
    this.name = 'NodeError'
    this.type = type
  }
}

/** A final error: another attempt would fail as well, or use more than is allowed. The firing is not retried. */
export class NonRetryableError extends NodeError {}

/** A firing was interrupted and must not run again. No Catch receives it, and it is not retried. */
export class NodeInterruptedError extends NodeError {
  constructor(message: string) {
    super(message, 'node_interrupted')
  }
}
