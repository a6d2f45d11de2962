// From a decoded message to its handler: unknown, malformed and planned commands get their defined answers here.
import { type CommandInfo, commandManifest } from '../../generated/messages.ts'
import { commandValidators } from '../../generated/validators.js'
import { errorBodies, type Problem, ServiceError, toServiceError } from '../errors.ts'
import { logFailure } from '../log.ts'
import { problemsOf } from '../problems.ts'
import type { Peer } from './peer.ts'
import { forbidden, type JobCommand, refuseJob } from './scopes.ts'
import { handlers } from './ws.ts'

type Message = Record<string, unknown>
type Handler = (message: never, connection: Peer) => unknown

/** Carries out one message, where nothing was wrong with its texts. Nothing that it says closes the socket. */
export function dispatch(connection: Peer, message: unknown, illFormed: readonly Problem[]): void {
  if (!isRecord(message)) return invalidMessage(connection, 'A frame is one object.')
  if (message.command === undefined || message.command === null) {
    // A frame with a type is an answer or something newer than this server: nothing to say.
    if (message.type !== undefined && message.type !== null) return
    return invalidMessage(connection, 'A frame has a "command" or a "type".')
  }
  if (typeof message.command !== 'string') return invalidMessage(connection, '"command" is a string.')
  const info = commandManifest.ws[message.command as keyof typeof commandManifest.ws]
  if (info?.implementation !== 'implemented') return unknownCommand(connection, message)
  const validate = commandValidators.ws[info.command]
  if (!validate(message)) return invalidCommand(connection, message, info.kind, problemsOf(validate.errors ?? []))
  if (illFormed.length > 0) return invalidCommand(connection, message, info.kind, illFormed)
  const handler = handlers[info.command as keyof typeof handlers] as Handler
  connection.lanes.run(jobIdOf(message), () => {
    const error = forbidden(connection.principal, info)
    if (error) return refuseCommand(connection, message, info, error)
    return info.kind === 'rpc' ? answerRpc(connection, message, handler) : carryOut(connection, message, handler)
  })
}

function refuseCommand(connection: Peer, message: Message, { kind }: CommandInfo, error: ServiceError): void {
  if (kind === 'job' && refuseJob(connection, message as unknown as JobCommand, error)) return
  // Of all jobs, whoever may see none has none. An error that names nothing would end the only run of its client.
  if (kind === 'job' && !hasRequestId(message)) return connection.send({ type: 'status', jobs: [] })
  answerError(connection, message, error, error.publicMessage)
}

async function carryOut(connection: Peer, message: Message, handler: Handler): Promise<void> {
  try {
    await handler(message as never, connection)
  } catch (thrown) {
    const error = toServiceError(thrown)
    logFault(connection, error, message)
    answerError(connection, message, error, error.publicMessage)
  }
}

async function answerRpc(connection: Peer, message: Message, handler: Handler): Promise<void> {
  try {
    const result = await handler((message.data ?? {}) as never, connection)
    connection.send({ type: 'rpc_response', request_id: message.request_id, command: message.command, result })
  } catch (thrown) {
    const error = toServiceError(thrown)
    logFault(connection, error, message)
    rpcError(connection, message, error)
  }
}

function rpcError(connection: Peer, message: Message, error: ServiceError): void {
  const { request_id, command } = message
  connection.send({
    type: 'rpc_response',
    request_id,
    command,
    error: errorBodies.socket(error),
  })
}

function invalidMessage(connection: Peer, message: string): void {
  connection.send({ error: 'invalid_message', message })
}

function unknownCommand(connection: Peer, message: Message): void {
  const text = `There is no command "${String(message.command).slice(0, 64).toWellFormed()}".`
  answerError(connection, message, new ServiceError('NOT_FOUND', { message: text }), text)
}

function invalidCommand(connection: Peer, message: Message, kind: string, problems: readonly Problem[]): void {
  const { command } = message
  if (kind === 'job')
    return connection.send({ error: 'invalid_command', details: problems, command, ...idsOf(message) })
  const [first] = problems
  const text = `The command "${String(command)}" is not what its schema says: ${first?.path} ${first?.message}.`
  answerError(connection, message, new ServiceError('INVALID_REQUEST', { message: text, problems }), text)
}

/** One `rpc_response` to whoever sent a request id, else a frame that only says what is wrong. */
function answerError(connection: Peer, message: Message, error: ServiceError, text: string): void {
  if (hasRequestId(message)) rpcError(connection, message, error)
  else connection.send({ type: 'error', message: text, command: message.command })
}

function logFault(connection: Peer, error: ServiceError, { command, request_id }: Message): void {
  logFailure(connection.app.log, error, { command, request_id }, 'a command failed')
}

function hasRequestId({ request_id }: Message): boolean {
  return (
    typeof request_id === 'string' && request_id.length >= 1 && request_id.length <= 128 && request_id.isWellFormed()
  )
}

function jobIdOf(message: Message): string | null {
  const { data } = message
  return isRecord(data) && typeof data.job_id === 'string' ? data.job_id : null
}

function idsOf(message: Message): { job_id?: string; request_id?: unknown } {
  const job_id = jobIdOf(message)
  return {
    ...(job_id !== null && job_id !== '' && job_id.isWellFormed() ? { job_id } : {}),
    ...(hasRequestId(message) ? { request_id: message.request_id } : {}),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
