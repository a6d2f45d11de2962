// The reason why the service cannot start, in one line for the operator.

/** The message is one line that says what is wrong and what to do. The process prints it and exits with 1. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
  }
}
