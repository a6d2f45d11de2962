// Checks that another principal cannot see the caller's jobs: they look like jobs that do not exist.
import type { OperationId } from '../../../../generated/operations.ts'
import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import { isTerminal, readSnapshot } from '../job-actions.ts'
import { isSameJson, mapOf } from '../json.ts'
import { observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { type SuiteRequest, toEvidenceParts } from '../target-server.ts'

const UNKNOWN_JOB_ID = 'conformance-unknown'
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

/** Every operation answers another principal's job like a missing one, and has no effect on it. */
export async function checkJobsOfOtherPrincipal(t: SuiteContext): Promise<void> {
  const token = t.operator_inputs.other_token
  if (token === null) throw new CheckSkipped('no token of another principal was given: set --other-token')
  const headers = { Authorization: `Bearer ${token}` }
  const { status } = await t.target.send('GET', '/api/jobs', { headers })
  if (status === 401) throw new CheckSkipped('the token of another principal is refused')
  const { job_id, final } = await observeCompletedRun(t)
  const findings = new CheckFindings()
  for (const operation of OPERATIONS.filter((one) => t.hasOperation(one))) {
    const ask = (id: string) => t.call(operation, { values: { id, job_id: id } }, createRequest(operation, headers))
    const [theirs, nobodys] = [await ask(job_id), await ask(UNKNOWN_JOB_ID)]
    const right = theirs.status === 404 && nobodys.status === 404 && isSameJson(theirs.body, nobodys.body)
    findings.addCase(right, () => ({
      finding: `${operation} reveals another principal's job`,
      ...toEvidenceParts(theirs),
    }))
  }
  const socket = await t.openSocket({ headers })
  for (const command of COMMANDS.filter((one) => t.hasCommand(one))) {
    const theirs = (await socket.request(command, { job_id })).error
    const nobodys = (await socket.request(command, { job_id: UNKNOWN_JOB_ID })).error
    const right = theirs?.code === 'JOB_NOT_FOUND' && isSameJson(theirs, nobodys)
    const seen = { theirs, nobodys }
    findings.addCase(right, () => ({ finding: `${command} reveals another principal's job`, answer: seen }))
  }
  findings.throwIfBroken('the server claims no operation for jobs')
  const after = await readSnapshot(t, job_id)
  expect(isTerminal(after) && isSameJson(after, final), 'another principal has changed a job', { final }, mapOf(after))
}

function createRequest(operation: OperationId, headers: Record<string, string>): SuiteRequest {
  return operation === 'resumeJob' ? { headers, json: { value: 'stolen' } } : { headers }
}
