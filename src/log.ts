// Structured log lines: pino on standard error, with secrets replaced before they are written.
import { type DestinationStream, type Logger, pino } from 'pino'
import { Redactor } from './redaction/redactor.ts'

export type Log = Logger

/** A logger that writes one JSON object a line, by default to standard error. `level` is a pino level or `silent`. */
export function createLog(
  level: string,
  redactor = new Redactor(),
  output: DestinationStream = openStandardError(),
): Log {
  const cause = (text: unknown) =>
    typeof text === 'string' ? redactor.text(text, { names: true }).slice(0, MAX_CAUSE_LENGTH).toWellFormed() : text
  const streamWrite = (line: string) => redactLine(line, redactor)
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: null, timestamp, serializers: { cause }, hooks: { streamWrite } }, output)
}

/** Bytes that wait for whoever reads standard error. */
const MAX_WAITING_BYTES = 1_048_576

/**
 * Standard error as the process has it: a file or a terminal takes each line at once, and a pipe as soon as there is room in it. Where nobody reads the
 * pipe, lines beyond what may wait are left out: to wait for the reader would hold everybody up.
 */
function openStandardError(): DestinationStream {
  const { stderr } = process
  let left_out = 0
  const write = (line: string) => {
    if (stderr.writableLength > MAX_WAITING_BYTES) {
      left_out++
      return
    }
    if (left_out > 0) stderr.write(skippedLinesNotice(left_out))
    left_out = 0
    stderr.write(line)
  }
  return { write }
}

function skippedLinesNotice(count: number): string {
  const msg = 'lines of the log were left out: nobody read them'
  return `${JSON.stringify({ level: pino.levels.values.warn, time: new Date().toISOString(), left_out: count, msg })}\n`
}

type Fields = Readonly<Record<string, unknown>>

/** What callers send to be refused. The rest of the audit log is names and ids, and nobody gets their own out of it by making it their secret. */
const CALLER_SENT_FIELDS = new Set(['path', 'reason', 'method', 'request_id', 'host', 'origin', 'forwarded_by'])
/** What the source says, whatever it is about. Who makes such words their secret does not blot them out for the operator. */
const SOURCE_FIELDS = new Set(['level', 'time', 'msg', 'code'])
/** No scope is called so. */
const NO_SCOPE_KEY = ''

// The line, and not what it is made of: a secret may stand in a message, a stack, or a property of an error that a library threw.
function redactLine(line: string, redactor: Redactor): string {
  const fields = JSON.parse(line) as Fields
  const isTold = (name: string) => ('audit' in fields ? CALLER_SENT_FIELDS.has(name) : !SOURCE_FIELDS.has(name))
  const told = mapFields(fields, (name, value) => {
    if (!isTold(name)) return value
    return name === 'err' ? redactError(value, redactor) : redactor.value(value)
  })
  // Everybody's come first: what is left of a secret after a part of it was taken for something else would not be found.
  const redacted = redactor.forOwner(NO_SCOPE_KEY).value(told, { names: true })
  return redacted === fields ? line : `${JSON.stringify({ ...redacted, level: fields.level, time: fields.time })}\n`
}

/** With each member as `change` makes it; the same object where it makes none another. */
function mapFields(fields: Fields, change: (name: string, value: unknown) => unknown): Fields {
  const entries = Object.entries(fields).map(([name, value]) => [name, change(name, value)] as const)
  return entries.some(([name, value]) => !Object.is(value, fields[name])) ? Object.fromEntries(entries) : fields
}

/** An error as pino writes it. Its type is said by the source, and so are the frames of its stack. */
function redactError(error: unknown, redactor: Redactor): unknown {
  if (typeof error !== 'object' || error === null || Array.isArray(error)) return redactor.value(error)
  return mapFields(error as Fields, (name, value) => {
    if (name === 'type') return value
    return name === 'stack' && typeof value === 'string' ? redactStack(value, redactor) : redactor.value(value)
  })
}

/** Frames as V8 writes them, of modules. */
const FRAMES =
  /((?:\n {4}at (?:[\w$.<>#[\] ]{1,200} \()?(?:file:\/\/\/|node:)[^\s()]{1,1000}:\d{1,9}:\d{1,9}\)?(?=\n|$))+)/

/** What stands between the frames are messages; one may have several lines. */
function redactStack(stack: string, redactor: Redactor): string {
  return stack
    .split(FRAMES)
    .map((part, at) => (at % 2 === 1 ? part : redactor.text(part)))
    .join('')
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
const MAX_CAUSE_LENGTH = 500
/** So much of it is looked at, because what is cut short no longer looks like the secret that it was. */
const MAX_SCANNED_LENGTH = 16_384

/**
 * Logs why a node failed. Where the failure was told, it was meant, and anybody can bring it about as often as they like: it
 * is one line without a stack. Otherwise something is broken. `redact`: as for that user, whose secrets such a message may cut.
 */
export function logNodeFailure(
  log: Log,
  cause: unknown,
  isExpected: boolean,
  fields: object,
  redact = (message: string) => message,
): void {
  const message = 'a node failed'
  if (!isExpected) return log.error({ ...fields, err: cause }, message)
  const text = cause instanceof Error ? cause.message : String(cause)
  log.warn({ ...fields, cause: redact(text.slice(0, MAX_SCANNED_LENGTH)) }, message)
}
