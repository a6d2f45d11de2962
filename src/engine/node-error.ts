// The error with which node code says what went wrong.

/** An error whose message may be shown to whoever started the run. */
export class NodeError extends Error {
  readonly type: string
  constructor(message: string, type = 'node_error', options?: ErrorOptions) {
    super(message, options)
    this.name = 'NodeError'
    this.type = type
  }
}
