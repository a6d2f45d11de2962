// What another principal sees of the caller's jobs: nothing, just as of jobs that do not exist.
import type { OperationId } from '../../../../generated/operations.ts'
import { isTerminal, snapshotOf } from '../jobs.ts'
import { mapOf, same } from '../json.ts'
import { completedRun } from '../runs.ts'
import { type Asked, shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip } from '../verdicts.ts'

const NOBODYS = 'conformance-unknown'
const OPERATIONS: readonly OperationId[] = [
  'getJobSnapshot',
  'getJob',
  'followJobEvents',
  'requestJobCancellation',
  'cancelJob',
  'resumeJob',
  'retryJob',
  'deleteJob',
]
const COMMANDS = ['get_job_snapshot', 'subscribe_job', 'request_job_cancellation'] as const

/** Through every door, another principal's job is answered as one that does not exist, and nothing happens to it. */
export async function othersJobs(t: Trial): Promise<void> {
  const token = t.given.other_token
  if (token === null) throw new Skip('no token of another principal is given: give --other-token')
  const headers = { Authorization: `Bearer ${token}` }
  const { status } = await t.target.send('GET', '/api/jobs', { headers })
  if (status === 401) throw new Skip('the token of another principal is refused')
  const { job_id, final } = await completedRun(t)
  const findings = new Findings()
  for (const operation of OPERATIONS.filter((one) => t.serves(one))) {
    const ask = (id: string) => t.call(operation, { values: { id, job_id: id } }, askedOf(operation, headers))
    const [theirs, nobodys] = [await ask(job_id), await ask(NOBODYS)]
    const right = theirs.status === 404 && nobodys.status === 404 && same(theirs.body, nobodys.body)
    findings.see(right, () => ({ finding: `${operation} tells of another principal's job`, ...shown(theirs) }))
  }
  const socket = await t.socket({ headers })
  for (const command of COMMANDS.filter((one) => t.takes(one))) {
    const theirs = (await socket.ask(command, { job_id })).error
    const nobodys = (await socket.ask(command, { job_id: NOBODYS })).error
    const right = theirs?.code === 'JOB_NOT_FOUND' && same(theirs, nobodys)
    const seen = { theirs, nobodys }
    findings.see(right, () => ({ finding: `${command} tells of another principal's job`, answer: seen }))
  }
  findings.settle('the server claims no door for jobs')
  const after = await snapshotOf(t, job_id)
  expect(isTerminal(after) && same(after, final), 'another principal has changed a job', { final }, mapOf(after))
}

function askedOf(operation: OperationId, headers: Record<string, string>): Asked {
  return operation === 'resumeJob' ? { headers, json: { value: 'stolen' } } : { headers }
}
