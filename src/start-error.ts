// Why the service cannot start, in one line for the person at the terminal.

/** Its message is one line that says what is wrong and what to do. The process prints it and exits with 1. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
  }
}
