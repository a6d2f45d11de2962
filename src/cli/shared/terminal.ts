// The process as commands see it: streams, environment and stop signal; and the errors that end a command. main.ts creates them from the process;
// nothing here reads the process itself.
import type { Readable } from 'node:stream'
import type { Environment } from '../../config.ts'
import type { Problem } from '../../errors.ts'

export interface TerminalOutput {
  write(text: string, done?: (error?: Error | null) => void): boolean
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface Terminal {
  readonly stdin: Readable
  /** Results only, so that they can be piped. */
  readonly stdout: TerminalOutput
  /** Everything else: progress, warnings, errors. */
  readonly stderr: TerminalOutput
  readonly environment: Environment
  /** Aborts at the first Ctrl-C or SIGTERM, with the name of the signal as its reason. */
  readonly stop: AbortSignal
}

/** The exit codes of `svc run`; other commands use some of them. 124 is that of timeout(1), 130 and 143 are those of shells. */
export const EXIT_CODES = {
  completed: 0,
  failed: 1,
  usage: 2,
  invalid: 3,
  timed_out: 124,
  interrupted: 130,
  terminated: 143,
} as const

/** Ends a command with an exit code and a message; `problems` are listed below it, one a line. */
export class CommandError extends Error {
  readonly code: number
  readonly problems: readonly Problem[]
  constructor(code: number, message: string, problems: readonly Problem[] = []) {
    super(message)
    this.name = 'CommandError'
    this.code = code
    this.problems = problems
  }
}

/** The error of a command line that does not match the usage. */
export class UsageError extends CommandError {
  constructor(message: string, code: number = EXIT_CODES.usage) {
    super(code, message)
  }
}

/** Writes a whole text, and resolves when it is written. */
export function writeOutput(output: TerminalOutput, text: string): Promise<void> {
  return new Promise((resolve) => {
    // The reader may have closed the pipe, as `head` does: that is no failure of the command.
    output.write(text, () => resolve())
  })
}

/** Whether lines may be redrawn and coloured: on a terminal that permits it (https://no-color.org). */
export function isInteractive(output: TerminalOutput, environment: Environment): boolean {
  return output.isTTY === true && !environment.NO_COLOR && environment.TERM !== 'dumb'
}

/** The maximum width of lines before a terminal breaks them. Without a terminal it is infinite. */
export function outputColumns({ isTTY, columns }: TerminalOutput): number {
  return isTTY === true && columns !== undefined && columns > 0 ? columns : Number.POSITIVE_INFINITY
}

/** The exit code of the signal that stopped the command. */
export function stopExitCode(stop: AbortSignal): number {
  return stop.reason === 'SIGTERM' ? EXIT_CODES.terminated : EXIT_CODES.interrupted
}
