// States over whole runs: what snapshots say, what cancellation and resumption do.
import { cancel, ended, isTerminal, snapshotOf, start, watch, workflow } from '../jobs.ts'
import { type JsonMap, listOf, mapOf, same } from '../json.ts'
import { allRuns, cancelledRun, completedRun } from '../runs.ts'
import { shown } from '../target.ts'
import type { Trial } from '../trial.ts'
import { expect, Findings, Skip } from '../verdicts.ts'
import { activeSequence, identity, preflightKept, queueOrder, times } from './active-jobs.ts'
import type { Check, ChecksOf } from './check.ts'
import { expired } from './expired.ts'
import { queuedJob } from './queued-job.ts'
import { doorsAgree, list, notFound } from './state-doors.ts'
import { illegalStep } from './transitions.ts'

export const stateChecks: ChecksOf<'states'> = {
  'server.states.legal-transitions': async (t) => {
    const findings = new Findings()
    for (const { name, snapshots, final } of await allRuns(t)) {
      const step = illegalStep(snapshots.map(({ status }) => String(status)))
      findings.see(step === null, () => ({ finding: `the run ${name} goes ${step}`, answer: final }))
    }
    findings.settle('')
  },
  'server.states.terminal-immutable': async (t) => {
    const findings = new Findings()
    for (const { job_id, name } of await allRuns(t)) {
      const before = await snapshotOf(t, job_id)
      const answer = await cancel(t, job_id)
      const after = await snapshotOf(t, job_id)
      const answered = { before, answer, after }
      findings.see(same(before, after) && isTerminal(after), () => ({
        finding: `the ended run ${name} has changed`,
        answer: answered,
      }))
    }
    findings.settle('')
  },
  'server.states.result-when-completed': everySnapshot(
    (one) => (one.status === 'completed') === (mapOf(one).result !== null && one.result !== undefined),
    'a result is missing, or there too early',
  ),
  'server.states.error-when-failed': everySnapshot(({ status, error, result }) => {
    const { message, type } = mapOf(error)
    return status !== 'failed' || (Boolean(message) && Boolean(type) && result === null)
  }, 'a failed snapshot has no error, or a result'),
  'server.states.queue-position': async (t) => {
    await everySnapshot(({ status, queue_position }) => {
      return status === 'queued' ? Number(queue_position) >= 1 : queue_position === null
    }, 'queue_position does not fit the state')(t)
  },
  'server.states.waiting': everySnapshot(({ status, waiting }) => {
    return Array.isArray(waiting) && (status === 'suspended') === waiting.length > 0
  }, 'waiting does not fit the state'),
  'server.states.resumed': async (t) => {
    const { final, job_id, snapshots } = await completedRun(t)
    const [waited] = listOf(snapshots.find(({ status }) => status === 'suspended')?.waiting).map(mapOf)
    const { name, kind, node_id, schema } = waited ?? {}
    const told = name === 'answer' && kind === 'value' && node_id === 'wait' && same(schema, { type: 'string' })
    expect(told, 'it does not say what it waits for', {}, waited)
    const { answer } = mapOf(mapOf(final.result).outputs)
    expect(answer === 'forty-two', 'the value is not in the outputs', { value: 'forty-two' }, final)
    if (!t.serves('resumeJob')) return
    const again = await t.call('resumeJob', { values: { id: job_id } }, { json: { value: 'again' } })
    const { request, answer: got } = shown(again)
    expect(again.status === 409, `a job that waits for nothing answers ${again.status}, not 409`, request, got)
    await refusedValue(t)
  },
  'server.states.cancel-queued': cancelQueued,
  'server.states.cancel-active': async (t) => {
    const { answers, final } = await cancelledRun(t)
    const right = ['cancel_requested', 'cancelled'].includes(String(answers[0]!.status)) && final.status === 'cancelled'
    expect(right, 'an active job that is cancelled does not end as cancelled', {}, { answers, final })
  },
  'server.states.cancel-idempotent': async (t) => {
    const { answers, final } = await cancelledRun(t)
    const step = illegalStep(answers.map(({ status }) => String(status)))
    expect(step === null && same(answers.at(-1), final), 'cancelling again changes something', {}, { answers, final })
  },
  'server.states.cancel-terminal': async (t) => {
    const findings = new Findings()
    for (const { job_id, final, name } of await allRuns(t)) {
      const answer = await cancel(t, job_id)
      findings.see(same(answer, final), () => ({
        finding: `the ended run ${name} is answered otherwise`,
        answer: { answer, final },
      }))
    }
    findings.settle('')
  },
  'server.states.acknowledged-cancel': acknowledgedCancel,
  'server.states.not-found': notFound,
  'server.states.doors-agree': doorsAgree,
  'server.states.list': list,
  'server.states.identity': identity,
  'server.states.active-sequence': activeSequence,
  'server.states.preflight-kept': preflightKept,
  'server.states.times': times,
  'server.states.queue-order': queueOrder,
  'server.states.expired': expired,
}

function everySnapshot(right: (snapshot: JsonMap) => boolean, finding: string): Check {
  return async (t) => {
    const findings = new Findings()
    const queued = await queuedJob(t).catch((error) => {
      if (error instanceof Skip) return null
      throw error
    })
    for (const { snapshots, events } of await allRuns(t)) {
      const terminal = events.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [mapOf(snapshot)]))
      for (const snapshot of [...snapshots, ...terminal])
        findings.see(right(snapshot), () => ({ finding, answer: snapshot }))
    }
    for (const snapshot of queued?.snapshots ?? []) findings.see(right(snapshot), () => ({ finding, answer: snapshot }))
    findings.settle('no run could be made')
  }
}

async function cancelQueued(t: Trial): Promise<void> {
  const { snapshots, status } = await queuedJob(t)
  if (status !== 'queued') throw new Skip(`no job could be brought to wait in the queue: it was ${String(status)}`)
  const final = snapshots.at(-1)!
  const right = final.status === 'cancelled' && final.started_at === null
  expect(right, 'a queued job that is cancelled has run, or is not cancelled', {}, final)
}

async function refusedValue(t: Trial): Promise<void> {
  const job_id = await start(t, await workflow(t, 'waiting'), {})
  await watch(t, job_id, ({ status }) => status === 'suspended')
  const refused = await t.call('resumeJob', { values: { id: job_id } }, { json: { value: 42 } })
  const { request, answer } = shown(refused)
  expect(refused.status === 422, `a value that its schema refuses is ${refused.status}, not 422`, request, answer)
  const { status } = await snapshotOf(t, job_id)
  await cancel(t, job_id)
  expect(status === 'suspended', `after a refused value the job is ${String(status)}`, request)
}

async function acknowledgedCancel(t: Trial): Promise<void> {
  t.needs('requestJobCancellation')
  const findings = new Findings()
  const job_id = await start(t, await workflow(t, 'waiting'), {})
  await watch(t, job_id, ({ status }) => status === 'suspended')
  for (let times = 0; times < 2; times++) {
    const answer = mapOf((await t.good('requestJobCancellation', 200, { values: { job_id } })).body)
    const snapshot = mapOf(answer.snapshot)
    const right = answer.job_id === job_id && answer.status === snapshot.status && snapshot.job_id === job_id
    const asked = answer.cancel_requested === !isTerminal(snapshot)
    findings.see(right && asked, () => ({ finding: 'answer and snapshot disagree', answer }))
    await ended(t, job_id)
  }
  findings.settle('')
}
