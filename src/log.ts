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
