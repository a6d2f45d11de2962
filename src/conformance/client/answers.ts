// What the reference server answers where no script says otherwise: as the contract has it.
import type { Call, CallName } from './call.ts'
import type { Connection } from './connection.ts'
import type { Job } from './jobs.ts'
import { cancelled, type LifeItem, status } from './life.ts'
import {
  cancellation,
  capabilities,
  preflightSummary,
  submission,
  subscription,
  uploaded,
  workflowInterface,
  workflowRecord,
} from './records.ts'
import { bodyOf, type Stage } from './stage.ts'
import type { Fields } from './wire.ts'

type Answer = (call: Call, stage: Stage) => void

export function answer(call: Call, stage: Stage): void {
  ANSWERS[call.name](call, stage)
}

const ANSWERS: Readonly<Record<CallName, Answer>> = {
  get_capabilities: (call, stage) => call.reply(capabilities(stage.jobsProfile)),
  preflight_workflow: withWorkflow((call, id, etag) => call.reply(preflightSummary(id, etag, true))),
  get_workflow: withWorkflow((call, id, etag) => call.reply(workflowRecord(id, etag))),
  get_workflow_interface: withWorkflow((call, id, etag) => call.reply(workflowInterface(id, etag))),
  get_workflow_interfaces: (call, { etags }) => {
    const ids = (Array.isArray(call.data.ids) ? call.data.ids : []) as string[]
    const interfaces = ids.flatMap((id) => (etags.has(id) ? [workflowInterface(id, etags.get(id)!)] : []))
    const missing = ids.filter((id) => !etags.has(id))
    const errors = missing.map((workflow_id) => ({
      workflow_id,
      code: 'workflow_not_found',
      message: 'The workflow does not exist.',
    }))
    call.reply({ interfaces, errors })
  },
  list_workflows: (call, { etags }) => {
    const workflows = [...etags].map(([id, etag]) => workflowRecord(id, etag)).map(({ graph: _, ...item }) => item)
    call.reply(call.door === 'http' ? workflows : { workflows, next: null })
  },
  list_workflow_summaries: (call, { etags }) => {
    const workflows = [...etags].map(([id, revision]) => ({
      id,
      name: id,
      description: '',
      revision,
      registry_revision: 1,
      run_mode: 'workflow',
    }))
    call.reply({ workflows, next: null })
  },
  submit_job: submit,
  get_job_snapshot: withJob(giveSnapshot),
  getJob: withJob(giveSnapshot),
  subscribe_job: withJob(follow),
  request_job_cancellation: withJob((call, job, stage) => {
    if (!job.terminal) grow(stage, job, [status('cancel_requested')])
    call.reply(cancellation(job))
    if (!job.terminal) grow(stage, job, [cancelled])
  }),
  uploadTemporaryAsset: (call) =>
    call.reply(uploaded(String(call.data.name), String(call.data.content_type), Number(call.data.size))),
  runWorkflow: withWorkflow((call, id, _etag, stage) => {
    const { params, background } = call.data
    const job = stage.store({ data: { workflow_id: id, inputs: params } })
    job.stored = job.events.length
    call.reply(runResult(job, background === true))
  }),
  followJobEvents: withJob((call, job) => {
    const after = Number(call.data.after_sequence ?? 0)
    call.reply(job.take(job.positionsAfter(after)))
  }),
}

function withWorkflow(reply: (call: Call, id: string, etag: string, stage: Stage) => void): Answer {
  return (call, stage) => {
    const id = String(call.data.workflow_id ?? call.data.id)
    const etag = stage.etags.get(id)
    if (etag === undefined) stage.refuse(call, 'WORKFLOW_NOT_FOUND')
    else reply(call, id, etag, stage)
  }
}

function withJob(reply: (call: Call, job: Job, stage: Stage) => void): Answer {
  return (call, stage) => {
    const job = stage.jobs.get(String(call.data.job_id))
    if (job) reply(call, job, stage)
    else stage.refuse(call, 'JOB_NOT_FOUND')
  }
}

function giveSnapshot(call: Call, job: Job): void {
  call.reply(job.snapshot() as Fields)
  job.covered(job.last_sequence)
}

function submit(call: Call, stage: Stage): void {
  const { data } = call
  const etag = stage.etags.get(String(data.workflow_id))
  const kept = stage.kept.get(String(data.idempotency_key))
  if (kept && kept.body !== bodyOf(data)) stage.refuse(call, 'IDEMPOTENCY_CONFLICT')
  else if (kept) call.reply(submission(kept.job, data.client_request_id, true))
  else if (etag === undefined) stage.refuse(call, 'WORKFLOW_NOT_FOUND')
  else if (etag !== data.workflow_etag) stage.refuse(call, 'WORKFLOW_REVISION_CONFLICT')
  else call.reply(submission(stage.store(call), data.client_request_id, false))
}

function runResult(job: Job, background: boolean): Fields {
  const { job_id, facts } = job
  const { status: state, result } = job.snapshot()
  const now = background
    ? { status: 'accepted', outputs: {}, message_count: 0 }
    : { status: state, outputs: result?.outputs ?? {}, message_count: job.stored }
  return { job_id, workflow_id: facts.workflow_id, ...now, error: null, background }
}

/** The job of a call, which the caller knows to be there. */
export function jobOf(call: Call, stage: Stage): Job {
  return stage.jobs.get(String(call.data.job_id))!
}

export function afterOf(call: Call): number {
  return Number(call.data.after_sequence ?? 0)
}

/** Answers a subscription, replays what is stored, and goes on with the rest of the job's life. */
export function follow(call: Call, job: Job, stage: Stage): void {
  const after = afterOf(call)
  if (after > Math.max(job.last_sequence, job.base)) return stage.refuse(call, 'SEQUENCE_AHEAD')
  accept(call, stage)
  send(call, stage, job.positionsAfter(after))
}

/** Answers a subscription and sends nothing more by itself. `expired`: the events before are no longer kept. */
export function accept(call: Call, stage: Stage, expired = false): Job {
  const job = jobOf(call, stage)
  call.reply(subscription(job, afterOf(call), expired))
  if (expired) job.covered(job.last_sequence)
  if (job.terminal) stage.toldEnd = true
  if (!stage.followers.has(job)) stage.followers.set(job, new Map())
  stage.followers.get(job)!.set(call.connection!, 0)
  return job
}

/** Sends the events at these positions to a subscriber, in this order, if they come after what it asked for. */
export function send(call: Call, stage: Stage, positions: readonly number[]): void {
  const job = jobOf(call, stage)
  const wanted = positions.filter((position) => job.base + position > afterOf(call))
  if (wanted.length > 0) sendTo(call.connection!, job, wanted)
}

export function sendTo(connection: Connection, job: Job, positions: readonly number[]): void {
  for (const event of job.take(positions)) {
    if (connection.open) job.delivered(event.sequence)
    connection.send({ type: 'job_event', job_id: job.job_id, event })
  }
}

/** Stores more of a job's life, and sends it to everybody who follows the job. */
export function grow(stage: Stage, job: Job, life: readonly LifeItem[]): void {
  const before = job.stored
  job.extend(life)
  job.stored = job.events.length
  tell(stage, job, job.positionsAfter(job.base + before))
}

/** Sends events to everybody who follows the job. */
export function tell(stage: Stage, job: Job, positions: readonly number[]): void {
  if (positions.length === 0) return
  job.take(positions)
  for (const connection of stage.followers.get(job)?.keys() ?? []) sendTo(connection, job, positions)
}
