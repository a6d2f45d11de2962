// The errors with which node code, and the engine itself, say what went wrong.

/** An error whose message may be shown to whoever started the run. */
export class NodeError extends Error {
  readonly type: string
  constructor(message: string, type = 'node_error', options?: ErrorOptions) {
    super(message, options)
    this.name = 'NodeError'
    this.type = type
  }
}

/** The node has come to its end: another attempt could only come to the same one, or take more than it may. It is not tried again. */
export class NonRetryableError extends NodeError {}

/** A firing was interrupted and may not run again. No Catch holds it, and it is not tried again. */
export class NodeInterruptedError extends NodeError {
  constructor(message: string) {
    super(message, 'node_interrupted')
  }
}
