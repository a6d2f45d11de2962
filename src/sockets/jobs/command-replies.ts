// Replies to job commands: an acknowledgement once the command is stored, a refusal, or the end of a job that does not exist.

import type { ErrorCode } from '../../../generated/errors.ts'
import type { CommandRefusedError } from '../../../generated/types.ts'
import type { Problem, ServiceError } from '../../errors.ts'
import type { ActiveJob } from '../../jobs/active-job.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'
import type { JobInputs } from '../../jobs/run/job-inputs.ts'
import { logFailure } from '../../log.ts'
import { toCommandError } from '../command-errors.ts'
import type { CommandConnection } from '../commands/command-connection.ts'

export type RequestId = string | null | undefined

export function echoRequestId(request_id: RequestId): { request_id?: string } {
  return request_id ? { request_id } : {}
}

interface Acknowledgement {
  readonly message: string
  readonly job_id: string
  readonly workflow_id: string | null
  readonly request_id?: string
}

export function createAck(
  message: string,
  { id, workflow_id }: { id: string; workflow_id: string | null },
  request_id: RequestId,
): Acknowledgement {
  return { message, job_id: id, workflow_id, ...echoRequestId(request_id) }
}

/** Acknowledges a command once it survives a crash of the server. Later commands need not wait: their replies come after this one. */
export function acknowledgeWhenStored(
  connection: CommandConnection,
  { row }: ActiveJob,
  inputs: JobInputs,
  answer: Acknowledgement,
): void {
  inputs.whenStored().then(
    () => connection.send(answer),
    (thrown) => refuseTemporarily(connection, row.id, answer.request_id, thrown),
  )
}

/** Refuses a command for an existing job, because the command cannot be stored, or the job not be read, now. */
export function refuseTemporarily(
  connection: CommandConnection,
  job_id: string,
  request_id: RequestId,
  thrown: unknown,
): void {
  const error = toCommandError(connection, thrown)
  logFailure(connection.app.log, error, { job_id }, 'a job command failed')
  sendCommandRefusal(connection, 'unavailable', job_id, request_id, { code: error.code, message: error.publicMessage })
}

/** Whether a command may succeed later. Such an error must not end a stored job. */
export function isTransientError({ code, status }: Pick<ServiceError, 'code' | 'status'>): boolean {
  return status >= 500 || code === 'RATE_LIMITED'
}

/** Whether the command has failed for good, since the job is not stored, or belongs to another user. */
export function isJobMissing(
  { app, principal }: CommandConnection,
  job_id: string,
  { code, status }: ServiceError,
): boolean {
  if (code === 'JOB_NOT_FOUND' || code === 'JOB_EXPIRED') return true
  try {
    return (
      isTransientError({ code, status }) && code !== 'OUTCOME_UNKNOWN' && !app.runs.jobs.isStored(principal, job_id)
    )
  } catch {
    // The job may exist, so the client must not see its end.
    return false
  }
}

/** Ends, for the sender only, a job that could not start or is unknown. An existing job is not affected. */
export function sendJobFailure(
  connection: CommandConnection,
  job_id: string,
  workflow_id: string | null,
  thrown: unknown,
): void {
  const error = toCommandError(connection, thrown)
  logFailure(connection.app.log, error, { job_id }, 'a job command failed')
  connection.send(new JobFrames(job_id, workflow_id).failedCommand(error))
}

export type CommandRefusalCode = CommandRefusedError['error']

const REFUSAL_MESSAGES: Readonly<Partial<Record<CommandRefusalCode, string>>> = {
  unknown_job: 'The job does not exist.',
  invalid_value: 'The value does not fit the type of the input.',
  unknown_input: 'The job has no input of that name.',
  not_a_stream: 'The input takes no values while the job runs.',
  not_running: 'The job is not running, or the input has ended.',
  unknown_node: 'The graph of the job has no such node.',
  not_suspended: 'The job is not waiting for input.',
  unavailable: 'The service is unavailable; try again later.',
}

const REFUSAL_ERROR_CODES: Readonly<Record<CommandRefusalCode, ErrorCode>> = {
  unknown_job: 'JOB_NOT_FOUND',
  unknown_input: 'INVALID_PARAMETERS',
  not_a_stream: 'CONFLICT',
  not_running: 'CONFLICT',
  unknown_node: 'NOT_FOUND',
  job_id_in_use: 'CONFLICT',
  not_suspended: 'JOB_NOT_SUSPENDED',
  ambiguous: 'INVALID_PARAMETERS',
  not_waiting: 'INVALID_PARAMETERS',
  invalid_value: 'INVALID_PARAMETERS',
  unavailable: 'SERVICE_UNAVAILABLE',
  forbidden: 'FORBIDDEN',
}

export function sendCommandRefusal(
  connection: CommandConnection,
  error: CommandRefusalCode,
  job_id: string,
  request_id: RequestId,
  more: { code?: ErrorCode; message?: string; problems?: readonly Problem[] } = {},
): void {
  const body = { error, code: REFUSAL_ERROR_CODES[error], message: REFUSAL_MESSAGES[error] ?? error, job_id }
  connection.send({ ...body, ...more, ...echoRequestId(request_id) })
}
