// Turns errors of the system or the database into a sentence instead of a stack.
import { CommandError, EXIT_CODES } from './terminal.ts'

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_(CORRUPT|NOTADB)/, 'see what "svc check" finds'],
  [
    /^SQLITE_(READONLY|CANTOPEN)/,
    'SQLite makes files beside the database that it reads: copy the data folder to a place where you may write',
  ],
]

/** The error that ends a command; `what` failed, such as `the backup`. An error without a code is a bug, and stays unchanged. */
export function toCommandFailure(what: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (error instanceof CommandError || code === undefined) return error
  const advice = ADVICE.find(([codes]) => codes.test(code))?.[1]
  return new CommandError(EXIT_CODES.failed, `${what} failed: ${message} (${code})${advice ? `; ${advice}` : ''}`)
}
