// From a decoded message to its handler: unknown, malformed and planned commands get their defined answers here.
import { type CommandInfo, commandManifest } from '../../generated/messages.ts'
import { errorBodies, type Problem, ServiceError, toServiceError } from '../errors.ts'
import { inTime } from '../lifecycle/request-time.ts'
import { logFailure } from '../log.ts'
import { problemsOf } from '../problems.ts'
import { type RequestId, refuse } from './answers.ts'
import type { Channel } from './channel.ts'
import { refuseTurn } from './chat-refusal.ts'
import { sendInSlices } from './large-frames.ts'
import type { Peer } from './peer.ts'
import { forbidden, type JobCommand, refuseJob } from './scopes.ts'

type Message = Record<string, unknown>
type Handler = (message: never, connection: Peer, late?: AbortSignal) => unknown

/** Carries out one message. `inexact` gives what of it would be stored as something else. Nothing that it says closes the socket. Gives what `carry` does, null for what is refused. */
export function dispatch(
  channel: Channel,
  connection: Peer,
  message: unknown,
  inexact: () => readonly Problem[],
): Promise<void> | null {
  const info = accepted(channel, connection, message, (command) => {
    const validate = channel.validators[command]!
    return validate(message) ? inexact() : problemsOf(validate.errors ?? [])
  })
  return info && carry(channel, connection, message as Message, info)
}

/**
 * Whether a message is a command that can be carried out; if not, it is answered. `problems` gives what is wrong with it by the schema of the
 * command. Of the message only the envelope and the names in its data are read.
 */
export function accepted(
  channel: Channel,
  connection: Peer,
  message: unknown,
  problems: (command: string) => readonly Problem[],
): CommandInfo | null {
  const refuse = (refusal: () => void): null => {
    refusal()
    return null
  }
  if (!isRecord(message)) return refuse(() => invalidMessage(connection, 'A frame is one object.'))
  if (message.command === undefined || message.command === null) {
    // A frame with a type is an answer or something newer than this server: nothing to say.
    if (message.type !== undefined && message.type !== null) return null
    return refuse(() => invalidMessage(connection, 'A frame has a "command" or a "type".'))
  }
  if (typeof message.command !== 'string') return refuse(() => invalidMessage(connection, '"command" is a string.'))
  const info = channel.commands[message.command]
  if (!isServed(info, connection)) return refuse(() => unknownCommand(connection, message))
  if (info.switch === 'sdk_lifecycle' && !connection.app.config.sdk_lifecycle)
    return refuse(() => switchedOff(connection, message))
  const found = problems(info.command)
  return found.length === 0 ? info : refuse(() => invalidCommand(connection, message, info.kind, found))
}

/**
 * Carries out a command that `accepted` accepts, after those that name the same job. Gives its end; null for one that takes as long as its
 * model does: of those a connection has few.
 */
export function carry(channel: Channel, connection: Peer, message: Message, info: CommandInfo): Promise<void> | null {
  const handler = (channel.handlers as Readonly<Record<string, Handler>>)[info.command]!
  // What is done to a thread waits for its turn there, and not here: `stop` goes before what waits.
  const work = () => {
    const error = forbidden(connection.principal, info)
    if (error) return refuseCommand(connection, message, info, error)
    return info.kind === 'rpc' ? answerRpc(connection, message, handler) : carryOut(connection, message, info, handler)
  }
  const job_id = jobIdOf(message)
  const ended = job_id === null ? Promise.resolve(work()) : connection.lanes.run(job_id, work)
  return info.command === commandManifest.ws.inference.command ? null : ended
}

/** What is implemented, and with the preview what is planned and can be tried. */
function isServed(info: CommandInfo | undefined, { app }: Peer): info is CommandInfo {
  return info?.implementation === 'implemented' || (info?.preview === true && app.config.sdk_lifecycle_preview)
}

function switchedOff(connection: Peer, message: Message): void {
  const error = new ServiceError('SDK_LIFECYCLE_DISABLED')
  answerError(connection, message, error, error.publicMessage)
}

function refuseCommand(connection: Peer, message: Message, { kind }: CommandInfo, error: ServiceError): void {
  if (kind === 'job' && refuseJob(connection, message as unknown as JobCommand, error)) return
  // Of all jobs, whoever may see none has none. An error that names nothing would end the only run of its client.
  if (kind === 'job' && !hasRequestId(message)) return connection.send({ type: 'status', jobs: [] })
  answerFault(connection, message, kind, error)
}

/** Refuses a command that cannot be read now: nothing of it is stored. */
export function refuseUnread(
  connection: Peer,
  head: Message,
  { command, kind }: CommandInfo,
  error: ServiceError,
): void {
  const isRun = command === commandManifest.ws.run_job.command
  if (!isRun || !refuseJob(connection, head as unknown as JobCommand, error)) answerFault(connection, head, kind, error)
}

/** To a command that is what its schema says. */
function answerFault(connection: Peer, message: Message, kind: CommandInfo['kind'], error: ServiceError): void {
  const { thread_id } = threadOf(message)
  const job_id = jobIdOf(message)
  if (kind === 'job' && job_id !== null)
    return refuse(connection, 'unavailable', job_id, requestIdOf(message), {
      code: error.code,
      message: error.publicMessage,
    })
  if (kind === 'chat' && thread_id !== undefined && !hasRequestId(message)) refuseTurn(connection, thread_id, error)
  else answerError(connection, message, error, error.publicMessage)
}

async function carryOut(connection: Peer, message: Message, { kind }: CommandInfo, handler: Handler): Promise<void> {
  try {
    await handler(message as never, connection)
  } catch (thrown) {
    const error = toServiceError(thrown)
    logFault(connection, error, message)
    answerFault(connection, message, kind, error)
  }
}

async function answerRpc(connection: Peer, message: Message, handler: Handler): Promise<void> {
  let work = Promise.resolve<unknown>(null)
  try {
    const result = await inTime((late) => {
      work = (async () => handler((message.data ?? {}) as never, connection, late))()
      return work
    })
    const { request_id, command } = message
    await sendInSlices(connection, { type: 'rpc_response', request_id, command, result })
    connection.subscriptions.replied(result)
  } catch (thrown) {
    const error = toServiceError(thrown)
    logFault(connection, error, message)
    rpcError(connection, message, error)
    // It may come yet, too late, or could not be sent.
    work.then(
      (result) => connection.subscriptions.unsent(result),
      () => {},
    )
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
  connection.send({ error: 'invalid_message', code: 'INVALID_REQUEST', message })
}

function unknownCommand(connection: Peer, message: Message): void {
  const text = `There is no command "${String(message.command).slice(0, 64).toWellFormed()}".`
  answerError(connection, message, new ServiceError('NOT_FOUND', { message: text }), text)
}

function invalidCommand(connection: Peer, message: Message, kind: string, problems: readonly Problem[]): void {
  const { command } = message
  const [first] = problems
  const text = `The command "${String(command)}" is not what its schema says: ${first?.path} ${first?.message}.`
  const error = new ServiceError('INVALID_REQUEST', { message: text, problems })
  if (kind !== 'job') return answerError(connection, message, error, text)
  const said = { error: 'invalid_command', ...saidOf(error), message: text, details: error.problems }
  connection.send({ ...said, command, ...idsOf(message) })
}

/** One `rpc_response` to whoever sent a request id, else a frame that only says what is wrong. */
function answerError(connection: Peer, message: Message, error: ServiceError, text: string): void {
  if (hasRequestId(message)) rpcError(connection, message, error)
  else
    connection.send({ type: 'error', ...saidOf(error), message: text, command: message.command, ...threadOf(message) })
}

function saidOf({ code, problems, more_problems }: ServiceError): object {
  return { code, ...(problems.length > 0 ? { problems } : {}), ...(more_problems ? { more_problems } : {}) }
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

function requestIdOf(message: Message): RequestId {
  return hasRequestId(message) ? (message.request_id as string) : null
}

function idsOf(message: Message): { job_id?: string; request_id?: unknown } {
  const job_id = jobIdOf(message)
  return {
    ...(job_id !== null && job_id !== '' && job_id.isWellFormed() ? { job_id } : {}),
    ...(hasRequestId(message) ? { request_id: message.request_id } : {}),
  }
}

/** The thread that a message names, if it names one. */
function threadOf({ data }: Message): { thread_id?: string } {
  const thread_id = isRecord(data) ? data.thread_id : null
  const isOne = typeof thread_id === 'string' && thread_id.length >= 1 && thread_id.length <= 512
  return isOne && thread_id.isWellFormed() ? { thread_id } : {}
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
