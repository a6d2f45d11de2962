// Scenarios about submissions: correct repetitions, and final refusals.
import { replyByDefault } from '../default-replies.ts'
import type { CallHandler, Scenario, ScenarioId } from '../scenario.ts'
import { greetingEvents } from '../scripted-events.ts'
import { createPreflightSummary, createSubmissionReply } from '../server-records.ts'
import { createAttachWork, createRunWork } from '../tasks.ts'
import { describeMissingReport } from '../verdict.ts'
import { EXPECT_ALL_EVENTS, SUBMIT_STEP } from './expectations.ts'

/** A run whose first submission gets this reply. */
function createFirstReplyScenario(id: ScenarioId, title: string, turn: CallHandler): Scenario {
  return {
    id,
    title,
    work: createRunWork(),
    step: SUBMIT_STEP,
    script: { calls: { submit_job: [turn] } },
    expected: EXPECT_ALL_EVENTS,
  }
}

/** A run whose submissions are always refused with this code. The client must not repeat them. */
function createFinalRefusalScenario(id: ScenarioId, title: string, code: string): Scenario {
  return {
    id,
    title,
    work: createRunWork(),
    step: SUBMIT_STEP,
    script: {
      calls: {
        submit_job: (call, run) => {
          if (run.countOccurrence('submission') > 1)
            run.addViolation(`the job was submitted again after ${code}`, call.entry)
          run.refuse(call, code)
        },
      },
    },
    expected: { status: [code], value: null },
  }
}

const refuseWith =
  (code: string, retry_after?: number): CallHandler =>
  (call, run) =>
    run.refuse(call, code, retry_after)

const answerLostJobStored = createFirstReplyScenario(
  'answer-lost-job-stored',
  'A submission is stored, and its answer lost',
  (call, run) => {
    run.storeJob(call)
    call.breakBeforeReply()
  },
)

const answerLostNothingStored = createFirstReplyScenario(
  'answer-lost-nothing-stored',
  'A submission is lost before it is stored',
  (call) => call.breakBeforeReply(),
)

const unavailableRetried = createFirstReplyScenario(
  'unavailable-retried',
  'A submission is refused once as unavailable',
  refuseWith('SERVICE_UNAVAILABLE'),
)

const internalErrorRetried = createFirstReplyScenario(
  'internal-error-retried',
  'A submission meets an internal error once',
  refuseWith('INTERNAL_ERROR'),
)

const rateLimited = createFirstReplyScenario(
  'rate-limited',
  'A submission is refused once for its rate, with Retry-After: 1',
  refuseWith('RATE_LIMITED', 1),
)

const unknownErrorCode = createFirstReplyScenario(
  'unknown-error-code',
  'A submission is refused once with a new code that is retryable',
  refuseWith('SHARD_MOVED'),
)

const SLOW_REPLY_MS = 5_000

const slowAnswer = createFirstReplyScenario(
  'slow-answer',
  'A submission is answered after five seconds',
  (call, run) => {
    const job = run.storeJob(call)
    run.schedule(run.scaleTime(SLOW_REPLY_MS, 600), () =>
      call.reply(createSubmissionReply(job, call.data.client_request_id, false)),
    )
  },
)

const retryAfter: Scenario = {
  id: 'retry-after',
  title: 'The capabilities are refused once as unavailable, with Retry-After: 1',
  work: { kind: 'capabilities' },
  step: 'get_capabilities',
  script: { calls: { get_capabilities: [refuseWith('SERVICE_UNAVAILABLE', 1)] } },
  expected: { status: ['available', 'SERVICE_UNAVAILABLE'] },
}

const revisionConflict: Scenario = {
  id: 'revision-conflict',
  title: 'The workflow changes right before it is submitted',
  work: createRunWork(),
  step: SUBMIT_STEP,
  keys: 2,
  script: {
    calls: {
      submit_job: [
        (call, run) => {
          const id = String(call.data.workflow_id)
          run.refusedEtags.add(String(call.data.workflow_etag))
          run.etags.set(id, `etag-2-of-${id}`)
          run.refuse(call, 'WORKFLOW_REVISION_CONFLICT')
        },
      ],
    },
  },
  expected: { status: ['completed', 'WORKFLOW_REVISION_CONFLICT'] },
}

const preflightNotRunnable: Scenario = {
  id: 'preflight-not-runnable',
  title: 'A preflight finds the workflow not runnable',
  work: createRunWork({ preflight: true }),
  step: 'preflight_workflow',
  isReachedByScript: true,
  script: {
    calls: {
      preflight_workflow: (call, run) => {
        run.markStepReached()
        const id = String(call.data.workflow_id)
        call.reply(createPreflightSummary(id, run.etags.get(id)!, false))
      },
      submit_job: (call, run) => {
        if (run.isStepReached) run.addViolation('the workflow was submitted though it is not runnable', call.entry)
        run.refuse(call, 'PREFLIGHT_FAILED')
      },
    },
  },
  expected: { status: ['not_runnable'], value: null },
}

const jobsUnavailable: Scenario = {
  id: 'jobs-unavailable',
  title: 'The capabilities do not have the profile jobs',
  work: createRunWork(),
  step: 'get_capabilities, or an operation of the profile',
  prepare: (run) => {
    run.jobsProfile = 'unavailable'
  },
  script: {
    calls: {
      get_capabilities: replyByDefault,
      submit_job: refuseUnserved,
      subscribe_job: refuseUnserved,
      request_job_cancellation: refuseUnserved,
    },
  },
  // Without the profile a client may run the workflow by the common operations, or give up.
  expected: { status: ['completed', 'jobs_unavailable'] },
}

function refuseUnserved(...[call, run]: Parameters<CallHandler>): void {
  run.addViolation(`${call.name} was called though the profile jobs is unavailable`, call.entry)
  run.refuse(call, 'NOT_FOUND')
}

const runWithoutKeyOnce: Scenario = {
  id: 'run-without-key-once',
  title: 'Without the profile jobs, the answer to a run over HTTP is lost',
  work: createRunWork(),
  step: 'POST /api/workflows/wf_greeting/run',
  isReachedByScript: true,
  prepare: (run) => {
    run.jobsProfile = 'unavailable'
  },
  script: {
    calls: {
      submit_job: refuseUnserved,
      subscribe_job: refuseUnserved,
      request_job_cancellation: refuseUnserved,
      runWorkflow: (call, run) => {
        run.markStepReached()
        const { workflow_id, params: inputs } = call.data
        if (run.countOccurrence('run') > 1)
          run.addViolation('the run was sent again, though it has no key and may have arrived', call.entry)
        run.storeJob({ data: { workflow_id, inputs } })
        call.breakBeforeReply()
      },
    },
  },
  // The client may give up with any error of its own. A client that never runs the workflow proves nothing.
  expected: null,
  findFailure: (run) => {
    if (!run.report) return describeMissingReport(run)
    return run.report.status === 'completed' ? 'the client reported completed without an answer' : null
  },
}

/** The most requests for an expired job, over all operations. */
const MAX_REQUESTS = 4

function createMissingJobScenario(id: ScenarioId, title: string, code: string): Scenario {
  const turn: CallHandler = (call, run) => {
    if (run.countOccurrence('question') > MAX_REQUESTS)
      run.addViolation(`the client asked more than ${MAX_REQUESTS} times`, call.entry)
    run.refuse(call, code)
  }
  return {
    id,
    title,
    work: createAttachWork('job_gone', 3),
    step: 'subscribe_job or get_job_snapshot for job_gone',
    prepare: (run) => run.addJob('job_gone', 'wf_greeting', greetingEvents()).markCovered(3),
    script: { calls: { subscribe_job: turn, get_job_snapshot: turn } },
    expected: { status: [code], value: null },
  }
}

export const submissionScenarios = [
  answerLostJobStored,
  answerLostNothingStored,
  unavailableRetried,
  internalErrorRetried,
  rateLimited,
  retryAfter,
  unknownErrorCode,
  createFinalRefusalScenario(
    'not-retryable-is-final',
    'A submission is refused with 503, not retryable',
    'SDK_LIFECYCLE_DISABLED',
  ),
  createFinalRefusalScenario(
    'conflict-is-final',
    'The idempotency key was used for another request',
    'IDEMPOTENCY_CONFLICT',
  ),
  revisionConflict,
  createFinalRefusalScenario(
    'preflight-failed-is-final',
    'A submission does not pass its preflight',
    'PREFLIGHT_FAILED',
  ),
  preflightNotRunnable,
  slowAnswer,
  jobsUnavailable,
  runWithoutKeyOnce,
  createMissingJobScenario('job-not-found', 'The job does not exist', 'JOB_NOT_FOUND'),
  createMissingJobScenario('job-expired', 'The job is past its retention', 'JOB_EXPIRED'),
]
