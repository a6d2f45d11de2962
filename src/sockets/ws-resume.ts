// The command `resume_job`: a value for a job that waits for it.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import { type ServiceError, toServiceError } from '../errors.ts'
import { ack, type Refusal, refuse, refuseNow } from './answers.ts'
import type { Peer } from './peer.ts'

type Handler = WsCommandHandlers<Peer>['resume_job']
type Data = Parameters<Handler>[0]['data']

export const resume_job: Handler = async ({ data, request_id }, connection) => {
  const { app, principal, followers } = connection
  const { job_id, node_id = null, name = null, value } = data
  // The acknowledgement comes before the first frame of what goes on.
  const release = followers.hold(job_id)
  try {
    const { row: before } = await app.jobs.get(principal, job_id)
    followers.requirePlace(before)
    await app.jobs.resume(principal, job_id, { node_id, name, value, at: '/data' })
    connection.send(ack('The value is accepted.', before, request_id))
    if (!followers.followsId(job_id)) followers.follow(before, before.last_sequence)
  } catch (thrown) {
    const error = toServiceError(thrown)
    const refusal = refusalOf(error, data)
    if (refusal === null) return refuseNow(connection, job_id, request_id, error)
    const { code, problems, message } = error
    refuse(connection, refusal, job_id, request_id, {
      code,
      ...(code === 'INVALID_PARAMETERS' ? { message, problems } : {}),
    })
  } finally {
    release()
  }
}

const REFUSALS: Readonly<Partial<Record<ServiceError['code'], Refusal>>> = {
  JOB_NOT_FOUND: 'not_running',
  JOB_EXPIRED: 'not_running',
  JOB_NOT_SUSPENDED: 'not_suspended',
}

/** Null where the job lives, and cannot be resumed now. */
function refusalOf({ code, problems }: ServiceError, { node_id }: Data): Refusal | null {
  if (code !== 'INVALID_PARAMETERS') return REFUSALS[code] ?? null
  // What is wrong with the value stands below it; else the request does not say well for whom it is.
  if (problems.every(({ path }) => path.startsWith('/data/value'))) return 'invalid_value'
  const unnamed = (node_id ?? null) === null && problems.some(({ path }) => path === '/data/node_id')
  return unnamed ? 'ambiguous' : 'not_waiting'
}
