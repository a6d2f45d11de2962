// Structured log lines: pino on standard error, with secrets replaced before they are written.
import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { Redactor } from './redaction/redactor.ts'

export type Log = Logger

/** A logger that writes one JSON object a line, by default to standard error. `level` is a pino level or `silent`. */
export function createLog(level: string, redactor = new Redactor(), output: DestinationStream = standardError()): Log {
  const cause = (text: unknown) =>
    typeof text === 'string' ? redactor.text(text, { names: true }).slice(0, LONGEST_CAUSE).toWellFormed() : text
  const streamWrite = (line: string) => redactedLine(line, redactor)
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: null, timestamp, serializers: { cause }, hooks: { streamWrite } }, output)
}

function standardError(): DestinationStream {
  return destination({ dest: 2, sync: true })
}

// The line, and not what it is made of: a secret may stand in a message, a stack, or a property of an error that a library threw.
function redactedLine(line: string, redactor: Redactor): string {
  const fields = JSON.parse(line) as Readonly<Record<string, unknown>>
  const redacted = 'audit' in fields ? redactedAudit(fields, redactor) : redactor.value(fields, { names: true })
  return redacted === fields ? line : `${JSON.stringify(redacted)}\n`
}

/** What callers send to be refused; the rest of the audit log is names and ids, and nobody gets their own out of it by making it their secret. */
const SENT = ['path', 'reason', 'method', 'request_id']
/** No scope is called so. */
const NOBODY = ''

function redactedAudit(fields: Readonly<Record<string, unknown>>, redactor: Redactor): typeof fields {
  const ours = redactor.of(NOBODY).value(fields, { names: true })
  const sent = SENT.filter((name) => Object.hasOwn(ours, name)).map((name) => [name, redactor.value(ours[name])])
  return { ...ours, ...Object.fromEntries(sent) }
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
/** So much of it is looked at, because what is cut short no longer looks like the secret that it was. */
const LONGEST_LOOK = 16_384

/**
 * Logs why a node failed. Where the failure was told, it was meant, and anybody can bring it about as often as they like: it
 * is one line without a stack. Otherwise something is broken.
 */
export function logNodeFailure(log: Log, cause: unknown, told: boolean, fields: object): void {
  const message = 'a node failed'
  if (!told) return log.error({ ...fields, err: cause }, message)
  const text = cause instanceof Error ? cause.message : String(cause)
  log.warn({ ...fields, cause: text.slice(0, LONGEST_LOOK) }, message)
}
