// Checks of jobs past their retention. The suite cannot wait that long, so the operator names such a job of the caller.

import { CheckFindings, CheckSkipped } from '../check-outcomes.ts'
import { mapOf } from '../json.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'

/** Every operation answers JOB_EXPIRED for a job past its retention. */
export async function checkExpiredJob(t: SuiteContext): Promise<void> {
  const job_id = t.operator_inputs.expired_job
  if (job_id === null) throw new CheckSkipped('no job past its retention was given: set --expired-job')
  const findings = new CheckFindings()
  for (const [operation, values] of [
    ['getJobSnapshot', { job_id }],
    ['getJob', { id: job_id }],
    ['followJobEvents', { id: job_id }],
    ['requestJobCancellation', { job_id }],
  ] as const) {
    if (!t.hasOperation(operation)) continue
    const answer = await t.call(operation, { values })
    const { type } = mapOf(mapOf(answer.body).error)
    const right = answer.status === 410 && type === 'job_expired'
    findings.addCase(right, () => ({
      finding: `${operation} is not answered with 410 JOB_EXPIRED`,
      ...toEvidenceParts(answer),
    }))
  }
  for (const command of ['get_job_snapshot', 'subscribe_job', 'request_job_cancellation'] as const) {
    if (!t.hasCommand(command)) continue
    const reply = await (await t.openSocket()).request(command, { job_id })
    const finding = `${command} is not answered with JOB_EXPIRED`
    findings.addCase(reply.error?.code === 'JOB_EXPIRED', () => ({ finding, answer: reply }))
  }
  findings.throwIfBroken('the server claims no operation for jobs')
}

/** Removed events are answered with REPLAY_EXPIRED over HTTP. A subscription returns the snapshot and replays nothing. */
export async function checkExpiredReplay(t: SuiteContext): Promise<void> {
  const job_id = t.operator_inputs.swept_job
  if (job_id === null) throw new CheckSkipped('no job with events past their retention was given: set --swept-job')
  const findings = new CheckFindings()
  if (t.hasOperation('followJobEvents')) {
    const answer = await t.call('followJobEvents', { values: { id: job_id }, query: 'after_sequence=0' })
    const right = answer.status === 410 && mapOf(mapOf(answer.body).error).type === 'replay_expired'
    findings.addCase(right, () => ({
      finding: 'its events are not answered with 410 REPLAY_EXPIRED',
      ...toEvidenceParts(answer),
    }))
  }
  if (t.hasCommand('subscribe_job')) {
    const socket = await t.openSocket()
    const reply = await socket.request('subscribe_job', { job_id, after_sequence: 0 })
    await socket.waitUntilAnswered()
    const { replay_from_sequence, replay_to_sequence, snapshot } = mapOf(reply.result)
    const { last_sequence, job_id: named } = mapOf(snapshot)
    const events = socket.frames.filter(({ body }) => body.type === 'job_event')
    const whole = named === job_id && replay_from_sequence === null && replay_to_sequence === last_sequence
    findings.addCase(whole && events.length === 0, () => ({
      finding: 'the answer is not its snapshot with an empty replay, or an event is replayed',
      answer: reply,
    }))
  }
  findings.throwIfBroken('the server claims no operation for events')
}
