// Structured log lines: pino on standard error, with credentials replaced before they are written.
import { destination, type Logger, pino } from 'pino'

export type Log = Logger

const REDACTED = [
  'authorization',
  'api_key',
  'token',
  'headers.authorization',
  'headers.cookie',
  '*.authorization',
  '*.api_key',
  '*.token',
]

/** A logger that writes one JSON object a line to standard error. `level` is a pino level or `silent`. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: REDACTED, censor: '[redacted]' } },
    destination({ dest: 2, sync: true }),
  )
}

interface Failure {
  readonly code: string
  readonly status: number
  readonly cause?: unknown
}

/** Logs a failed request or command: with its cause where something went wrong, in one quiet line where a refusal was meant. */
export function logFailure(log: Log, error: Failure, fields: object, message: string): void {
  if (error.status < 500) return
  const { code, cause } = error
  if (cause !== undefined || code === 'INTERNAL_ERROR') log.error({ ...fields, err: cause ?? error, code }, message)
  else log.info({ ...fields, code }, message)
}

/** Of the cause of a failure that was told, this much is logged: parts of it may come from elsewhere. */
const LONGEST_CAUSE = 500

/**
 * Logs why a node failed. Where the failure was told, it was meant, and anybody can bring it about as often as they like: it
 * is one line without a stack. Otherwise something is broken.
 */
export function logNodeFailure(log: Log, cause: unknown, told: boolean, fields: object): void {
  const message = 'a node failed'
  if (!told) return log.error({ ...fields, err: cause }, message)
  const text = cause instanceof Error ? cause.message : String(cause)
  log.warn({ ...fields, cause: text.slice(0, LONGEST_CAUSE).toWellFormed() }, message)
}
