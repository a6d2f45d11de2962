// Structured log lines: pino writes to standard error, after secrets are redacted.
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

/** Bytes that may wait for the reader of standard error. */
const MAX_WAITING_BYTES = 1_048_576

/**
 * Standard error of the process: a file or a terminal takes each line at once, a pipe as soon as it has room. If a pipe is not read, lines beyond the
 * limit are dropped, since waiting for the reader would block the process.
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
  const msg = 'log lines were dropped because standard error was not read'
  return `${JSON.stringify({ level: pino.levels.values.warn, time: new Date().toISOString(), left_out: count, msg })}\n`
}

type Fields = Readonly<Record<string, unknown>>

/** Audit fields that callers choose in refused requests. All others are names and ids, which a user must not redact by making them a secret. */
const CALLER_SENT_FIELDS = new Set(['path', 'reason', 'method', 'request_id', 'host', 'origin', 'forwarded_by'])
/** Fields whose words come from the source code. A user must not redact them for the operator by making them a secret. */
const SOURCE_FIELDS = new Set(['level', 'time', 'msg', 'code'])
/** No owner has this key. */
const NO_SCOPE_KEY = ''

// The finished line is redacted, because a secret may be in a message, a stack, or a property of an error of a library.
function redactLine(line: string, redactor: Redactor): string {
  const fields = JSON.parse(line) as Fields
  const mayHoldSecret = (name: string) => ('audit' in fields ? CALLER_SENT_FIELDS.has(name) : !SOURCE_FIELDS.has(name))
  const redactedByField = mapFields(fields, (name, value) => {
    if (!mayHoldSecret(name)) return value
    return name === 'err' ? redactError(value, redactor) : redactor.value(value)
  })
  // The shared secrets are replaced first: what remains of a secret after another replaced a part of it would not be found.
  const redacted = redactor.forOwner(NO_SCOPE_KEY).value(redactedByField, { names: true })
  return redacted === fields ? line : `${JSON.stringify({ ...redacted, level: fields.level, time: fields.time })}\n`
}

/** The fields as `change` returns them; the same object if nothing changes. */
function mapFields(fields: Fields, change: (name: string, value: unknown) => unknown): Fields {
  const entries = Object.entries(fields).map(([name, value]) => [name, change(name, value)] as const)
  return entries.some(([name, value]) => !Object.is(value, fields[name])) ? Object.fromEntries(entries) : fields
}

/** Redacts an error as pino writes it, except its type and its stack frames, which come from the source code. */
function redactError(error: unknown, redactor: Redactor): unknown {
  if (typeof error !== 'object' || error === null || Array.isArray(error)) return redactor.value(error)
  return mapFields(error as Fields, (name, value) => {
    if (name === 'type') return value
    return name === 'stack' && typeof value === 'string' ? redactStack(value, redactor) : redactor.value(value)
  })
}

/** Stack frames of modules, as V8 writes them. */
const FRAMES =
  /((?:\n {4}at (?:[\w$.<>#[\] ]{1,200} \()?(?:file:\/\/\/|node:)[^\s()]{1,1000}:\d{1,9}:\d{1,9}\)?(?=\n|$))+)/

/** The parts between the frames are messages, which may have several lines. */
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

/** Logs a failed request or command: an unexpected failure with its cause, an intended refusal in one info line. */
export function logFailure(log: Log, error: Failure, fields: object, message: string): void {
  if (error.status < 500) return
  const { code, cause } = error
  if (cause !== undefined || code === 'INTERNAL_ERROR') log.error({ ...fields, err: cause ?? error, code }, message)
  else log.info({ ...fields, code }, message)
}

/** Characters of the cause of an expected failure that are logged: parts of it may come from elsewhere. */
const MAX_CAUSE_LENGTH = 500
/** Characters of a cause that are scanned for secrets. More than is logged, because a secret that is cut short is no longer recognized. */
const MAX_SCANNED_LENGTH = 16_384

/**
 * Logs why a node failed. An expected failure is one line without a stack, since users can cause it as often as they like. Any other is a bug.
 * `redact` replaces the secrets of the user, which a shortened message may cut.
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
