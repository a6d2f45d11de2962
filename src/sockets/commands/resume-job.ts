// The command `resume_job`: sends a value to a job that waits for it.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import type { ServiceError } from '../../errors.ts'
import { toCommandError } from '../command-errors.ts'
import { type CommandRefusalCode, createAck, refuseTemporarily, sendCommandRefusal } from '../jobs/command-replies.ts'
import type { CommandConnection } from './command-connection.ts'

type ResumeJobHandler = WsCommandHandlers<CommandConnection>['resume_job']
type ResumeJobData = Parameters<ResumeJobHandler>[0]['data']

export const handleResumeJob: ResumeJobHandler = async ({ data, request_id }, connection) => {
  const { app, principal, followers } = connection
  const { job_id, node_id = null, name = null, value } = data
  // The acknowledgement comes before the first frame of the resumed job.
  const release = followers.hold(job_id)
  try {
    const { row } = await app.runs.jobs.get(principal, job_id)
    followers.requireCapacity(row)
    await app.runs.jobs.resume(principal, job_id, { node_id, name, value, at: '/data' })
    connection.send(createAck('The value is accepted.', row, request_id))
    if (!followers.isFollowing(job_id)) followers.follow(row, row.last_sequence)
  } catch (thrown) {
    const error = toCommandError(connection, thrown)
    const refusal = refusalCodeOf(error, data)
    if (refusal === null) return refuseTemporarily(connection, job_id, request_id, error)
    const { code, problems, message } = error
    sendCommandRefusal(connection, refusal, job_id, request_id, {
      code,
      ...(code === 'INVALID_PARAMETERS' ? { message, problems } : {}),
    })
  } finally {
    release()
  }
}

const REFUSAL_CODES: Readonly<Partial<Record<ServiceError['code'], CommandRefusalCode>>> = {
  JOB_NOT_FOUND: 'not_running',
  JOB_EXPIRED: 'not_running',
  JOB_NOT_SUSPENDED: 'not_suspended',
}

/** Null if the job exists, but cannot be resumed now. */
function refusalCodeOf({ code, problems }: ServiceError, { node_id }: ResumeJobData): CommandRefusalCode | null {
  if (code !== 'INVALID_PARAMETERS') return REFUSAL_CODES[code] ?? null
  // Problems of the value are below its path; others mean that the request does not name the wait clearly.
  if (problems.every(({ path }) => path.startsWith('/data/value'))) return 'invalid_value'
  const isAmbiguous = (node_id ?? null) === null && problems.some(({ path }) => path === '/data/node_id')
  return isAmbiguous ? 'ambiguous' : 'not_waiting'
}
