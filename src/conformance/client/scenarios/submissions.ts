// Submissions: what is sent again and how, and which refusals are final.
import { answer } from '../answers.ts'
import { greetingLife } from '../life.ts'
import { preflightSummary, submission } from '../records.ts'
import type { Scenario, ScenarioId, Turn } from '../scenario.ts'
import { attach, run } from '../tasks.ts'
import { neverReported } from '../verdict.ts'
import { GREETED, SUBMITS } from './common.ts'

/** A run whose first submission meets this. */
function first(id: ScenarioId, title: string, turn: Turn): Scenario {
  return { id, title, work: run(), step: SUBMITS, play: { calls: { submit_job: [turn] } }, expected: GREETED }
}

/** A run whose submissions are always refused with this code, and that must not be sent again. */
function final(id: ScenarioId, title: string, code: string): Scenario {
  return {
    id,
    title,
    work: run(),
    step: SUBMITS,
    play: {
      calls: {
        submit_job: (call, stage) => {
          if (stage.count('submission') > 1) stage.violate(`the job was submitted again after ${code}`, call.entry)
          stage.refuse(call, code)
        },
      },
    },
    expected: { status: [code], value: null },
  }
}

const refusedWith =
  (code: string, retry_after?: number): Turn =>
  (call, stage) =>
    stage.refuse(call, code, retry_after)

const stored = first('answer-lost-job-stored', 'A submission is stored, and its answer lost', (call, stage) => {
  stage.store(call)
  call.lose()
})

const notStored = first('answer-lost-nothing-stored', 'A submission is lost before it is stored', (call) => call.lose())

const unavailable = first(
  'unavailable-retried',
  'A submission is refused once as unavailable',
  refusedWith('SERVICE_UNAVAILABLE'),
)

const internal = first(
  'internal-error-retried',
  'A submission meets an internal error once',
  refusedWith('INTERNAL_ERROR'),
)

const limited = first(
  'rate-limited',
  'A submission is refused once for its rate, with Retry-After: 1',
  refusedWith('RATE_LIMITED', 1),
)

const unknownCode = first(
  'unknown-error-code',
  'A submission is refused once with a new code that is retryable',
  refusedWith('SHARD_MOVED'),
)

const SLOW_MS = 5_000

const slow = first('slow-answer', 'A submission is answered after five seconds', (call, stage) => {
  const job = stage.store(call)
  stage.after(stage.paced(SLOW_MS, 600), () => call.reply(submission(job, call.data.client_request_id, false)))
})

const retryAfter: Scenario = {
  id: 'retry-after',
  title: 'The capabilities are refused once as unavailable, with Retry-After: 1',
  work: { kind: 'capabilities' },
  step: 'get_capabilities',
  play: { calls: { get_capabilities: [refusedWith('SERVICE_UNAVAILABLE', 1)] } },
  expected: { status: ['available', 'SERVICE_UNAVAILABLE'] },
}

const revision: Scenario = {
  id: 'revision-conflict',
  title: 'The workflow changes right before it is submitted',
  work: run(),
  step: SUBMITS,
  keys: 2,
  play: {
    calls: {
      submit_job: [
        (call, stage) => {
          const id = String(call.data.workflow_id)
          stage.refusedEtags.add(String(call.data.workflow_etag))
          stage.etags.set(id, `etag-2-of-${id}`)
          stage.refuse(call, 'WORKFLOW_REVISION_CONFLICT')
        },
      ],
    },
  },
  expected: { status: ['completed', 'WORKFLOW_REVISION_CONFLICT'] },
}

const notRunnable: Scenario = {
  id: 'preflight-not-runnable',
  title: 'A preflight finds the workflow not runnable',
  work: run({ preflight: true }),
  step: 'preflight_workflow',
  late: true,
  play: {
    calls: {
      preflight_workflow: (call, stage) => {
        stage.reach()
        const id = String(call.data.workflow_id)
        call.reply(preflightSummary(id, stage.etags.get(id)!, false))
      },
      submit_job: (call, stage) => {
        if (stage.reached) stage.violate('it was submitted though it is not runnable', call.entry)
        stage.refuse(call, 'PREFLIGHT_FAILED')
      },
    },
  },
  expected: { status: ['not_runnable'], value: null },
}

const jobsUnavailable: Scenario = {
  id: 'jobs-unavailable',
  title: 'The capabilities do not have the profile jobs',
  work: run(),
  step: 'get_capabilities, or an operation of the profile',
  prepare: (stage) => {
    stage.jobsProfile = 'unavailable'
  },
  play: {
    calls: {
      get_capabilities: answer,
      submit_job: notServed,
      subscribe_job: notServed,
      request_job_cancellation: notServed,
    },
  },
  // Without the profile a client may run the workflow by the common routes, or give up.
  expected: { status: ['completed', 'jobs_unavailable'] },
}

function notServed(...[call, stage]: Parameters<Turn>): void {
  stage.violate(`${call.name} was asked for though the profile jobs is unavailable`, call.entry)
  stage.refuse(call, 'NOT_FOUND')
}

const runOnce: Scenario = {
  id: 'run-without-key-once',
  title: 'Without the profile jobs, the answer to a run over HTTP is lost',
  work: run(),
  step: 'POST /api/workflows/wf_greeting/run',
  late: true,
  prepare: (stage) => {
    stage.jobsProfile = 'unavailable'
  },
  play: {
    calls: {
      submit_job: notServed,
      subscribe_job: notServed,
      request_job_cancellation: notServed,
      runWorkflow: (call, stage) => {
        stage.reach()
        const { workflow_id, params: inputs } = call.data
        if (stage.count('run') > 1)
          stage.violate('the run was sent again, though it has no key and may have arrived', call.entry)
        stage.store({ data: { workflow_id, inputs } })
        call.lose()
      },
    },
  },
  // It may give up with any error of its own. Who never runs anything shows nothing.
  expected: null,
  judge: (stage) => {
    if (!stage.report) return neverReported(stage)
    return stage.report.status === 'completed' ? 'the client reported completed without an answer' : null
  },
}

/** Asked for a job that is gone, in however many ways. */
const MOST_QUESTIONS = 4

function gone(id: ScenarioId, title: string, code: string): Scenario {
  const turn: Turn = (call, stage) => {
    if (stage.count('question') > MOST_QUESTIONS)
      stage.violate(`it asked more than ${MOST_QUESTIONS} times`, call.entry)
    stage.refuse(call, code)
  }
  return {
    id,
    title,
    work: attach('job_gone', 3),
    step: 'subscribe_job or get_job_snapshot for job_gone',
    prepare: (stage) => stage.addJob('job_gone', 'wf_greeting', greetingLife()).covered(3),
    play: { calls: { subscribe_job: turn, get_job_snapshot: turn } },
    expected: { status: [code], value: null },
  }
}

export const submissions = [
  stored,
  notStored,
  unavailable,
  internal,
  limited,
  retryAfter,
  unknownCode,
  final('not-retryable-is-final', 'A submission is refused with 503, not retryable', 'SDK_LIFECYCLE_DISABLED'),
  final('conflict-is-final', 'The idempotency key was used for another request', 'IDEMPOTENCY_CONFLICT'),
  revision,
  final('preflight-failed-is-final', 'A submission does not pass its preflight', 'PREFLIGHT_FAILED'),
  notRunnable,
  slow,
  jobsUnavailable,
  runOnce,
  gone('job-not-found', 'The job does not exist', 'JOB_NOT_FOUND'),
  gone('job-expired', 'The job is past its retention', 'JOB_EXPIRED'),
]
