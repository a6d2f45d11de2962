// Checks of states over whole runs: snapshots, cancellation and resumption.

import { CheckFindings, CheckSkipped, expect } from '../check-outcomes.ts'
import {
  cancelJob,
  isTerminal,
  pollJobUntil,
  readSnapshot,
  startJob,
  storeSampleWorkflow,
  waitForJobEnd,
} from '../job-actions.ts'
import { isSameJson, type JsonMap, listOf, mapOf } from '../json.ts'
import { observeAllRuns, observeCancelledRun, observeCompletedRun } from '../observed-runs.ts'
import type { SuiteContext } from '../suite-context.ts'
import { toEvidenceParts } from '../target-server.ts'
import {
  checkActiveSequence,
  checkPreflightKept,
  checkQueueOrder,
  checkSnapshotIdentity,
  checkSnapshotTimes,
} from './active-snapshots.ts'
import type { AreaChecks, RequirementCheck } from './check-types.ts'
import { createQueuedJob } from './queued-job.ts'
import { checkExpiredJob } from './retention.ts'
import { findIllegalTransition } from './state-transitions.ts'
import { checkJobList, checkJobNotFound, checkTransportsAgree } from './state-transports.ts'

export const stateChecks: AreaChecks<'states'> = {
  'server.states.legal-transitions': async (t) => {
    const findings = new CheckFindings()
    for (const { name, snapshots, final } of await observeAllRuns(t)) {
      const step = findIllegalTransition(snapshots.map(({ status }) => String(status)))
      findings.addCase(step === null, () => ({
        finding: `the run ${name} has the illegal step ${step}`,
        answer: final,
      }))
    }
    findings.throwIfBroken('')
  },
  'server.states.terminal-immutable': async (t) => {
    const findings = new CheckFindings()
    for (const { job_id, name } of await observeAllRuns(t)) {
      const before = await readSnapshot(t, job_id)
      const answer = await cancelJob(t, job_id)
      const after = await readSnapshot(t, job_id)
      const answered = { before, answer, after }
      findings.addCase(isSameJson(before, after) && isTerminal(after), () => ({
        finding: `the ended run ${name} has changed`,
        answer: answered,
      }))
    }
    findings.throwIfBroken('')
  },
  'server.states.result-when-completed': createSnapshotCheck(
    (one) => (one.status === 'completed') === (mapOf(one).result !== null && one.result !== undefined),
    'a result is missing, or comes too early',
  ),
  'server.states.error-when-failed': createSnapshotCheck(({ status, error, result }) => {
    const { message, type } = mapOf(error)
    return status !== 'failed' || (Boolean(message) && Boolean(type) && result === null)
  }, 'a failed snapshot has no error, or a result'),
  'server.states.queue-position': async (t) => {
    await createSnapshotCheck(({ status, queue_position }) => {
      return status === 'queued' ? Number(queue_position) >= 1 : queue_position === null
    }, 'queue_position contradicts the state')(t)
  },
  'server.states.waiting': createSnapshotCheck(({ status, waiting }) => {
    return Array.isArray(waiting) && (status === 'suspended') === waiting.length > 0
  }, 'waiting contradicts the state'),
  'server.states.resumed': async (t) => {
    const { final, job_id, snapshots } = await observeCompletedRun(t)
    const [waited] = listOf(snapshots.find(({ status }) => status === 'suspended')?.waiting).map(mapOf)
    const { name, kind, node_id, schema } = waited ?? {}
    const told = name === 'answer' && kind === 'value' && node_id === 'wait' && isSameJson(schema, { type: 'string' })
    expect(told, 'the snapshot does not say what the job waits for', {}, waited)
    const { answer } = mapOf(mapOf(final.result).outputs)
    expect(answer === 'forty-two', 'the value is not in the outputs', { value: 'forty-two' }, final)
    if (!t.hasOperation('resumeJob')) return
    const again = await t.call('resumeJob', { values: { id: job_id } }, { json: { value: 'again' } })
    const { request, answer: got } = toEvidenceParts(again)
    expect(again.status === 409, `a job that is not waiting for a value answers ${again.status}, not 409`, request, got)
    await checkRefusedValue(t)
  },
  'server.states.cancel-queued': checkCancelQueued,
  'server.states.cancel-active': async (t) => {
    const { answers, final } = await observeCancelledRun(t)
    const right = ['cancel_requested', 'cancelled'].includes(String(answers[0]!.status)) && final.status === 'cancelled'
    expect(right, 'an active job that is cancelled does not end as cancelled', {}, { answers, final })
  },
  'server.states.cancel-idempotent': async (t) => {
    const { answers, final } = await observeCancelledRun(t)
    const step = findIllegalTransition(answers.map(({ status }) => String(status)))
    expect(
      step === null && isSameJson(answers.at(-1), final),
      'a second cancellation has an effect',
      {},
      { answers, final },
    )
  },
  'server.states.cancel-terminal': async (t) => {
    const findings = new CheckFindings()
    for (const { job_id, final, name } of await observeAllRuns(t)) {
      const answer = await cancelJob(t, job_id)
      findings.addCase(isSameJson(answer, final), () => ({
        finding: `the ended run ${name} is answered differently`,
        answer: { answer, final },
      }))
    }
    findings.throwIfBroken('')
  },
  'server.states.acknowledged-cancel': checkAcknowledgedCancel,
  'server.states.not-found': checkJobNotFound,
  'server.states.doors-agree': checkTransportsAgree,
  'server.states.list': checkJobList,
  'server.states.identity': checkSnapshotIdentity,
  'server.states.active-sequence': checkActiveSequence,
  'server.states.preflight-kept': checkPreflightKept,
  'server.states.times': checkSnapshotTimes,
  'server.states.queue-order': checkQueueOrder,
  'server.states.expired': checkExpiredJob,
}

function createSnapshotCheck(right: (snapshot: JsonMap) => boolean, finding: string): RequirementCheck {
  return async (t) => {
    const findings = new CheckFindings()
    const queued = await createQueuedJob(t).catch((error) => {
      if (error instanceof CheckSkipped) return null
      throw error
    })
    for (const { snapshots, events } of await observeAllRuns(t)) {
      const terminal = events.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [mapOf(snapshot)]))
      for (const snapshot of [...snapshots, ...terminal])
        findings.addCase(right(snapshot), () => ({ finding, answer: snapshot }))
    }
    for (const snapshot of queued?.snapshots ?? [])
      findings.addCase(right(snapshot), () => ({ finding, answer: snapshot }))
    findings.throwIfBroken('no run could be made')
  }
}

async function checkCancelQueued(t: SuiteContext): Promise<void> {
  const { snapshots, status } = await createQueuedJob(t)
  if (status !== 'queued') throw new CheckSkipped(`no job could be made to wait in the queue: it was ${String(status)}`)
  const final = snapshots.at(-1)!
  const right = final.status === 'cancelled' && final.started_at === null
  expect(right, 'a cancelled queued job has run, or is not cancelled', {}, final)
}

async function checkRefusedValue(t: SuiteContext): Promise<void> {
  const job_id = await startJob(t, await storeSampleWorkflow(t, 'waiting'), {})
  await pollJobUntil(t, job_id, ({ status }) => status === 'suspended')
  const refused = await t.call('resumeJob', { values: { id: job_id } }, { json: { value: 42 } })
  const { request, answer } = toEvidenceParts(refused)
  expect(
    refused.status === 422,
    `a value that its schema refuses is answered with ${refused.status}, not 422`,
    request,
    answer,
  )
  const { status } = await readSnapshot(t, job_id)
  await cancelJob(t, job_id)
  expect(status === 'suspended', `after a refused value the job is ${String(status)}`, request)
}

async function checkAcknowledgedCancel(t: SuiteContext): Promise<void> {
  t.requireOperations('requestJobCancellation')
  const findings = new CheckFindings()
  const job_id = await startJob(t, await storeSampleWorkflow(t, 'waiting'), {})
  await pollJobUntil(t, job_id, ({ status }) => status === 'suspended')
  for (let times = 0; times < 2; times++) {
    const answer = mapOf((await t.callExpecting('requestJobCancellation', 200, { values: { job_id } })).body)
    const snapshot = mapOf(answer.snapshot)
    const right = answer.job_id === job_id && answer.status === snapshot.status && snapshot.job_id === job_id
    const asked = answer.cancel_requested === !isTerminal(snapshot)
    findings.addCase(right && asked, () => ({ finding: 'the answer and the snapshot disagree', answer }))
    await waitForJobEnd(t, job_id)
  }
  findings.throwIfBroken('')
}
