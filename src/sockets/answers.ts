// How job commands are answered: acknowledged, refused, or with the end of a job that there is not.
import type { CommandRefusedError } from '../../generated/types.ts'
import { type Problem, toServiceError } from '../errors.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import { logFailure } from '../log.ts'
import type { Peer } from './peer.ts'

export type RequestId = string | null | undefined

export function echo(request_id: RequestId): { request_id?: string } {
  return request_id ? { request_id } : {}
}

export function ack(
  message: string,
  { id, workflow_id }: { id: string; workflow_id: string | null },
  request_id: RequestId,
): object {
  return { message, job_id: id, workflow_id, ...echo(request_id) }
}

/** What is acknowledged survives the server. The commands behind it need not wait: their answers come after this one. */
export function ackWhenStored(connection: Peer, job: ActiveJob, answer: object, request_id: RequestId): void {
  job.flushed().then(
    () => connection.send(answer),
    () => refuse(connection, 'not_running', job.row.id, request_id),
  )
}

/** Ends, for the sender alone, a job that could not start or is not known. A job that there is is not touched. */
export function end(connection: Peer, job_id: string, workflow_id: string | null, thrown: unknown): void {
  const error = toServiceError(thrown)
  logFailure(connection.app.log, error, { job_id }, 'a job command failed')
  connection.send({ type: 'job_update', status: 'failed', job_id, workflow_id, error: error.publicMessage })
}

export type Refusal = CommandRefusedError['error']

const REFUSALS: Readonly<Partial<Record<Refusal, string>>> = {
  invalid_value: 'The value is not what the input takes.',
  unknown_input: 'The job has no input of that name.',
  not_a_stream: 'The input takes no values while the job runs.',
  not_running: 'The job does not run, or the input has ended.',
  unknown_node: 'The graph of the job has no such node.',
  not_suspended: 'The job waits for nothing.',
  unavailable: 'The server cannot take this now; try again later.',
}

export function refuse(
  connection: Peer,
  error: Refusal,
  job_id: string,
  request_id: RequestId,
  more: { message?: string; problems?: readonly Problem[] } = {},
): void {
  connection.send({ error, message: REFUSALS[error] ?? error, job_id, ...more, ...echo(request_id) })
}
