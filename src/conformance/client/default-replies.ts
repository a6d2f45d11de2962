// The default replies of the reference server, as the contract defines them.
import type { ClientCall, ClientCallName } from './call.ts'
import type { ClientConnection } from './connection.ts'
import type { JsonMap } from './frame-codec.ts'
import { canonicalizeSubmission, type ScenarioRun } from './scenario-run.ts'
import { cancelledEvent, type ScriptedEvent, statusEvent } from './scripted-events.ts'
import {
  createCancellationReply,
  createCapabilities,
  createPreflightSummary,
  createSubmissionReply,
  createSubscriptionReply,
  createUploadReply,
  createWorkflowInterface,
  createWorkflowRecord,
} from './server-records.ts'
import type { SimulatedJob } from './simulated-job.ts'

type CallReplier = (call: ClientCall, run: ScenarioRun) => void

export function replyByDefault(call: ClientCall, run: ScenarioRun): void {
  DEFAULT_REPLIERS[call.name](call, run)
}

const DEFAULT_REPLIERS: Readonly<Record<ClientCallName, CallReplier>> = {
  get_capabilities: (call, run) => call.reply(createCapabilities(run.jobsProfile)),
  preflight_workflow: withWorkflow((call, id, etag) => call.reply(createPreflightSummary(id, etag, true))),
  get_workflow: withWorkflow((call, id, etag) => call.reply(createWorkflowRecord(id, etag))),
  get_workflow_interface: withWorkflow((call, id, etag) => call.reply(createWorkflowInterface(id, etag))),
  get_workflow_interfaces: (call, { etags }) => {
    const ids = (Array.isArray(call.data.ids) ? call.data.ids : []) as string[]
    const interfaces = ids.flatMap((id) => (etags.has(id) ? [createWorkflowInterface(id, etags.get(id)!)] : []))
    const missing = ids.filter((id) => !etags.has(id))
    const errors = missing.map((workflow_id) => ({
      workflow_id,
      code: 'workflow_not_found',
      message: 'The workflow does not exist.',
    }))
    call.reply({ interfaces, errors })
  },
  list_workflows: (call, { etags }) => {
    const workflows = [...etags]
      .map(([id, etag]) => createWorkflowRecord(id, etag))
      .map(({ graph: _, ...item }) => item)
    call.reply(call.transport === 'http' ? workflows : { workflows, next: null })
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
  submit_job: replySubmission,
  get_job_snapshot: withJob(replySnapshot),
  getJob: withJob(replySnapshot),
  subscribe_job: withJob(replySubscription),
  request_job_cancellation: withJob((call, job, run) => {
    if (!job.isTerminal) appendEvents(run, job, [statusEvent('cancel_requested')])
    call.reply(createCancellationReply(job))
    if (!job.isTerminal) appendEvents(run, job, [cancelledEvent])
  }),
  uploadTemporaryAsset: (call) =>
    call.reply(createUploadReply(String(call.data.name), String(call.data.content_type), Number(call.data.size))),
  runWorkflow: withWorkflow((call, id, _etag, run) => {
    const { params, background } = call.data
    const job = run.storeJob({ data: { workflow_id: id, inputs: params } })
    job.stored = job.events.length
    call.reply(createRunResult(job, background === true))
  }),
  followJobEvents: withJob((call, job) => {
    const after = Number(call.data.after_sequence ?? 0)
    call.reply(job.storeEvents(job.positionsAfter(after)))
  }),
}

function withWorkflow(reply: (call: ClientCall, id: string, etag: string, run: ScenarioRun) => void): CallReplier {
  return (call, run) => {
    const id = String(call.data.workflow_id ?? call.data.id)
    const etag = run.etags.get(id)
    if (etag === undefined) run.refuse(call, 'WORKFLOW_NOT_FOUND')
    else reply(call, id, etag, run)
  }
}

function withJob(reply: (call: ClientCall, job: SimulatedJob, run: ScenarioRun) => void): CallReplier {
  return (call, run) => {
    const job = run.jobs.get(String(call.data.job_id))
    if (job) reply(call, job, run)
    else run.refuse(call, 'JOB_NOT_FOUND')
  }
}

function replySnapshot(call: ClientCall, job: SimulatedJob): void {
  call.reply(job.snapshot() as JsonMap)
  job.markCovered(job.last_sequence)
}

function replySubmission(call: ClientCall, run: ScenarioRun): void {
  const { data } = call
  const etag = run.etags.get(String(data.workflow_id))
  const kept = run.jobsByIdempotencyKey.get(String(data.idempotency_key))
  if (kept && kept.body !== canonicalizeSubmission(data)) run.refuse(call, 'IDEMPOTENCY_CONFLICT')
  else if (kept) call.reply(createSubmissionReply(kept.job, data.client_request_id, true))
  else if (etag === undefined) run.refuse(call, 'WORKFLOW_NOT_FOUND')
  else if (etag !== data.workflow_etag) run.refuse(call, 'WORKFLOW_REVISION_CONFLICT')
  else call.reply(createSubmissionReply(run.storeJob(call), data.client_request_id, false))
}

function createRunResult(job: SimulatedJob, background: boolean): JsonMap {
  const { job_id, facts } = job
  const { status: state, result } = job.snapshot()
  const now = background
    ? { status: 'accepted', outputs: {}, message_count: 0 }
    : { status: state, outputs: result?.outputs ?? {}, message_count: job.stored }
  return { job_id, workflow_id: facts.workflow_id, ...now, error: null, background }
}

/** Returns the job of a call. The caller has checked that the job exists. */
export function findJobOfCall(call: ClientCall, run: ScenarioRun): SimulatedJob {
  return run.jobs.get(String(call.data.job_id))!
}

export function readAfterSequence(call: ClientCall): number {
  return Number(call.data.after_sequence ?? 0)
}

/** Answers a subscription, replays the stored events, and continues with the rest of the job's life. */
export function replySubscription(call: ClientCall, job: SimulatedJob, run: ScenarioRun): void {
  const after = readAfterSequence(call)
  if (after > Math.max(job.last_sequence, job.base)) return run.refuse(call, 'SEQUENCE_AHEAD')
  acceptSubscription(call, run)
  sendEvents(call, run, job.positionsAfter(after))
}

/** Answers a subscription and sends no events by itself. `expired`: the earlier events are no longer kept. */
export function acceptSubscription(call: ClientCall, run: ScenarioRun, expired = false): SimulatedJob {
  const job = findJobOfCall(call, run)
  call.reply(createSubscriptionReply(job, readAfterSequence(call), expired))
  if (expired) job.markCovered(job.last_sequence)
  if (job.isTerminal) run.hasSentTerminalSnapshot = true
  if (!run.followersByJob.has(job)) run.followersByJob.set(job, new Map())
  run.followersByJob.get(job)!.set(call.connection!, 0)
  return job
}

/** Sends the events at these positions to a subscriber, in this order, where they follow its requested sequence. */
export function sendEvents(call: ClientCall, run: ScenarioRun, positions: readonly number[]): void {
  const job = findJobOfCall(call, run)
  const wanted = positions.filter((position) => job.base + position > readAfterSequence(call))
  if (wanted.length > 0) sendEventsTo(call.connection!, job, wanted)
}

export function sendEventsTo(connection: ClientConnection, job: SimulatedJob, positions: readonly number[]): void {
  for (const event of job.storeEvents(positions)) {
    if (connection.isOpen) job.markDelivered(event.sequence)
    connection.send({ type: 'job_event', job_id: job.job_id, event })
  }
}

/** Stores more of a job's life, and sends it to all followers. */
export function appendEvents(run: ScenarioRun, job: SimulatedJob, life: readonly ScriptedEvent[]): void {
  const before = job.stored
  job.extend(life)
  job.stored = job.events.length
  broadcastEvents(run, job, job.positionsAfter(job.base + before))
}

/** Sends events to all followers of the job. */
export function broadcastEvents(run: ScenarioRun, job: SimulatedJob, positions: readonly number[]): void {
  if (positions.length === 0) return
  job.storeEvents(positions)
  for (const connection of run.followersByJob.get(job)?.keys() ?? []) sendEventsTo(connection, job, positions)
}
