// Dispatches decoded messages to their handlers, and answers unknown, malformed and planned commands.
import { type CommandInfo, commandManifest } from '../../../generated/messages.ts'
import { errorBodies, type Problem, ServiceError } from '../../errors.ts'
import { withRequestTimeout } from '../../lifecycle/request-timeout.ts'
import { logFailure } from '../../log.ts'
import { isRecord } from '../../shared/record.ts'
import { toValidationProblems } from '../../shared/validation-problems.ts'
import { refuseChatTurn } from '../chat-refusal.ts'
import { toCommandError } from '../command-errors.ts'
import { sendFrameInSlices } from '../frames/large-frames.ts'
import { type RequestId, sendCommandRefusal } from '../jobs/command-replies.ts'
import type { SocketChannel } from '../socket-channel.ts'
import { checkCommandScope, type JobCommand, refuseJobCommand } from './authorization.ts'
import type { CommandConnection } from './command-connection.ts'

type CommandMessage = Record<string, unknown>
type CommandHandler = (message: never, connection: CommandConnection, late?: AbortSignal) => unknown

/**
 * Dispatches a message. `inexact` returns problems of values that would be stored as others. No message closes the socket. Returns the result of
 * `executeCommand`, or null for a refused message.
 */
export function dispatchMessage(
  channel: SocketChannel,
  connection: CommandConnection,
  message: unknown,
  inexact: () => readonly Problem[],
): Promise<void> | null {
  const info = acceptCommand(channel, connection, message, (command) => {
    const validate = channel.validators[command]!
    return validate(message) ? inexact() : toValidationProblems(validate.errors ?? [])
  })
  return info && executeCommand(channel, connection, message as CommandMessage, info)
}

/**
 * Returns the command of a message, or answers a message that cannot be executed. `problems` returns its problems by the schema of the command. Only
 * the envelope and the names in `data` are read.
 */
export function acceptCommand(
  channel: SocketChannel,
  connection: CommandConnection,
  message: unknown,
  problems: (command: string) => readonly Problem[],
): CommandInfo | null {
  const refuse = (refusal: () => void): null => {
    refusal()
    return null
  }
  if (!isRecord(message)) return refuse(() => sendInvalidMessage(connection, 'A frame must be a single object.'))
  if (message.command === undefined || message.command === null) {
    // A frame with a type is an answer, or is newer than this server, and needs no reply.
    if (message.type !== undefined && message.type !== null) return null
    return refuse(() => sendInvalidMessage(connection, 'A frame must have a "command" or a "type".'))
  }
  if (typeof message.command !== 'string')
    return refuse(() => sendInvalidMessage(connection, '"command" must be a string.'))
  const info = channel.commands[message.command]
  if (!isCommandServed(info, connection)) return refuse(() => sendUnknownCommand(connection, message))
  if (info.switch === 'sdk_lifecycle' && !connection.app.config.sdk_lifecycle)
    return refuse(() => sendSwitchedOffError(connection, message))
  const found = problems(info.command)
  return found.length === 0 ? info : refuse(() => sendInvalidCommand(connection, message, info.kind, found))
}

/**
 * Executes an accepted command after earlier commands for the same job. Returns its end; null for an inference, which takes as long as its model: a
 * connection has few of them.
 */
export function executeCommand(
  channel: SocketChannel,
  connection: CommandConnection,
  message: CommandMessage,
  info: CommandInfo,
): Promise<void> | null {
  const handler = (channel.handlers as Readonly<Record<string, CommandHandler>>)[info.command]!
  // Commands for a thread are queued by the thread, not here: `stop` overtakes waiting commands.
  const work = () => {
    const error = checkCommandScope(connection.principal, info)
    if (error) return refuseCommand(connection, message, info, error)
    return info.kind === 'rpc'
      ? runRpcHandler(connection, message, handler)
      : runHandler(connection, message, info, handler)
  }
  const job_id = jobIdOf(message)
  const ended = job_id === null ? Promise.resolve(work()) : connection.command_queue.run(job_id, work)
  return info.command === commandManifest.ws.inference.command ? null : ended
}

/** The implemented commands; with the preview, also planned ones that can be tried. */
function isCommandServed(info: CommandInfo | undefined, { app }: CommandConnection): info is CommandInfo {
  return info?.implementation === 'implemented' || (info?.preview === true && app.config.sdk_lifecycle_preview)
}

function sendSwitchedOffError(connection: CommandConnection, message: CommandMessage): void {
  const error = new ServiceError('SDK_LIFECYCLE_DISABLED')
  sendErrorFrame(connection, message, error, error.publicMessage)
}

function refuseCommand(
  connection: CommandConnection,
  message: CommandMessage,
  { kind }: CommandInfo,
  error: ServiceError,
): void {
  if (kind === 'job' && refuseJobCommand(connection, message as unknown as JobCommand, error)) return
  // A client without the scope gets an empty list of jobs. An error without ids would end the client's only run.
  if (kind === 'job' && !hasRequestId(message)) return connection.send({ type: 'status', jobs: [] })
  sendCommandError(connection, message, kind, error)
}

/** Refuses a command for whose parsing there is no memory now. Nothing of it is stored. */
export function refuseUnreadableCommand(
  connection: CommandConnection,
  head: CommandMessage,
  { command, kind }: CommandInfo,
  error: ServiceError,
): void {
  const isRun = command === commandManifest.ws.run_job.command
  if (!isRun || !refuseJobCommand(connection, head as unknown as JobCommand, error))
    sendCommandError(connection, head, kind, error)
}

/** The error of a well-formed command. */
function sendCommandError(
  connection: CommandConnection,
  message: CommandMessage,
  kind: CommandInfo['kind'],
  error: ServiceError,
): void {
  const { thread_id } = threadOf(message)
  const job_id = jobIdOf(message)
  if (kind === 'job' && job_id !== null)
    return sendCommandRefusal(connection, 'unavailable', job_id, requestIdOf(message), {
      code: error.code,
      message: error.publicMessage,
    })
  if (kind === 'chat' && thread_id !== undefined && !hasRequestId(message)) refuseChatTurn(connection, thread_id, error)
  else sendErrorFrame(connection, message, error, error.publicMessage)
}

async function runHandler(
  connection: CommandConnection,
  message: CommandMessage,
  { kind }: CommandInfo,
  handler: CommandHandler,
): Promise<void> {
  try {
    await handler(message as never, connection)
  } catch (thrown) {
    const error = toCommandError(connection, thrown)
    logCommandFailure(connection, error, message)
    sendCommandError(connection, message, kind, error)
  }
}

async function runRpcHandler(
  connection: CommandConnection,
  message: CommandMessage,
  handler: CommandHandler,
): Promise<void> {
  let work = Promise.resolve<unknown>(null)
  try {
    const result = await withRequestTimeout((late) => {
      work = (async () => handler((message.data ?? {}) as never, connection, late))()
      return work
    })
    const { request_id, command } = message
    await sendFrameInSlices(connection, { type: 'rpc_response', request_id, command, result })
    connection.subscriptions.beginAfterReply(result)
  } catch (thrown) {
    const error = toCommandError(connection, thrown)
    logCommandFailure(connection, error, message)
    sendRpcError(connection, message, error)
    // The result may still come, too late, or could not be sent.
    work.then(
      (result) => connection.subscriptions.discard(result),
      () => {},
    )
  }
}

function sendRpcError(connection: CommandConnection, message: CommandMessage, error: ServiceError): void {
  const { request_id, command } = message
  connection.send({
    type: 'rpc_response',
    request_id,
    command,
    error: errorBodies.socket(error),
  })
}

function sendInvalidMessage(connection: CommandConnection, message: string): void {
  connection.send({ error: 'invalid_message', code: 'INVALID_REQUEST', message })
}

function sendUnknownCommand(connection: CommandConnection, message: CommandMessage): void {
  const text = `There is no command "${String(message.command).slice(0, 64).toWellFormed()}".`
  sendErrorFrame(connection, message, new ServiceError('NOT_FOUND', { message: text }), text)
}

function sendInvalidCommand(
  connection: CommandConnection,
  message: CommandMessage,
  kind: string,
  problems: readonly Problem[],
): void {
  const { command } = message
  const [first] = problems
  const text = `The command "${String(command)}" does not match its schema: ${first?.path} ${first?.message}.`
  const error = new ServiceError('INVALID_REQUEST', { message: text, problems })
  if (kind !== 'job') return sendErrorFrame(connection, message, error, text)
  const body = { error: 'invalid_command', ...errorFields(error), message: text, details: error.problems }
  connection.send({ ...body, command, ...idsOf(message) })
}

/** Sends an `rpc_response` for a command with a request id, else an error frame. */
function sendErrorFrame(
  connection: CommandConnection,
  message: CommandMessage,
  error: ServiceError,
  text: string,
): void {
  if (hasRequestId(message)) sendRpcError(connection, message, error)
  else
    connection.send({
      type: 'error',
      ...errorFields(error),
      message: text,
      command: message.command,
      ...threadOf(message),
    })
}

function errorFields({ code, problems, more_problems }: ServiceError): object {
  return { code, ...(problems.length > 0 ? { problems } : {}), ...(more_problems ? { more_problems } : {}) }
}

function logCommandFailure(
  connection: CommandConnection,
  error: ServiceError,
  { command, request_id }: CommandMessage,
): void {
  logFailure(connection.app.log, error, { command, request_id }, 'a command failed')
}

function hasRequestId({ request_id }: CommandMessage): boolean {
  return (
    typeof request_id === 'string' && request_id.length >= 1 && request_id.length <= 128 && request_id.isWellFormed()
  )
}

function jobIdOf(message: CommandMessage): string | null {
  const { data } = message
  return isRecord(data) && typeof data.job_id === 'string' ? data.job_id : null
}

function requestIdOf(message: CommandMessage): RequestId {
  return hasRequestId(message) ? (message.request_id as string) : null
}

function idsOf(message: CommandMessage): { job_id?: string; request_id?: unknown } {
  const job_id = jobIdOf(message)
  return {
    ...(job_id !== null && job_id !== '' && job_id.isWellFormed() ? { job_id } : {}),
    ...(hasRequestId(message) ? { request_id: message.request_id } : {}),
  }
}

/** The thread that a message names, if it names one. */
function threadOf({ data }: CommandMessage): { thread_id?: string } {
  const thread_id = isRecord(data) ? data.thread_id : null
  const isThreadId = typeof thread_id === 'string' && thread_id.length >= 1 && thread_id.length <= 512
  return isThreadId && thread_id.isWellFormed() ? { thread_id } : {}
}
