// The job commands of `/ws`: run, follow, feed and cancel jobs. resume-job.ts continues suspended jobs.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import { type ServiceError, toServiceError } from '../../errors.ts'
import type { ActiveJob } from '../../jobs/active-job.ts'
import type { JobSubmission, SubmittedJob } from '../../jobs/service.ts'
import { isTerminal, toSocketStatus } from '../../jobs/state-machine.ts'
import { estimateContainerBytes, LARGE_RESPONSE_BYTES, runForReader } from '../../net/response-buffers.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { findStreamedValueProblems } from '../../workflows/param-validation.ts'
import { toCommandError } from '../command-errors.ts'
import { sendFrameInSlices } from '../frames/large-frames.ts'
import { type ChangedOutput, listChangedOutputs } from '../jobs/changed-outputs.ts'
import {
  acknowledgeWhenStored,
  type CommandRefusalCode,
  createAck,
  echoRequestId,
  isJobMissing,
  isTransientError,
  type RequestId,
  refuseTemporarily,
  sendCommandRefusal,
  sendJobFailure,
} from '../jobs/command-replies.ts'
import { loadJobUpdate, StoredJobFrames } from '../jobs/frames.ts'
import type { CommandConnection } from './command-connection.ts'

type JobCommands = Pick<
  WsCommandHandlers<CommandConnection>,
  | 'run_job'
  | 'cancel_job'
  | 'reconnect_job'
  | 'get_status'
  | 'stream_input'
  | 'end_input_stream'
  | 'update_node_properties'
>

const INPUT_FULL_MESSAGE = 'The queue of this input is full. Send the next values once the job has taken some.'

const PROPERTIES_FULL_MESSAGE = 'The property changes of this job are too large together. No more changes are accepted.'

type RunJobData = Parameters<JobCommands['run_job']>[0]['data']

export const jobCommandHandlers: JobCommands = {
  async run_job({ data, request_id }, connection) {
    const submitted = await submitRun(connection, data, request_id)
    if (submitted === null) return
    if (submitted.duplicate) return reconnectOrRefuse(connection, submitted.row, null, request_id)
    const { active, row } = submitted
    try {
      await active.accepted()
    } catch (thrown) {
      // The job may be stored, so the client must not see its end.
      const error = toCommandError(connection, thrown)
      if (error.code === 'OUTCOME_UNKNOWN') return refuseTemporarily(connection, row.id, request_id, error)
      return sendJobFailure(connection, row.id, row.workflow_id, error)
    }
    connection.send(createAck('The job is accepted.', row, request_id))
    connection.followers.follow(row, 0, { feed: active.feed })
  },

  async cancel_job({ data, request_id }, connection) {
    const { app, principal, followers } = connection
    const { job_id, workflow_id = null } = data
    // The end of the job comes after the acknowledgement, which waits for the commit.
    const release = followers.hold(job_id)
    const wasFollowing = followers.isFollowing(job_id)
    try {
      const { row } = await app.runs.jobs.cancel(principal, job_id)
      connection.send(createAck('The cancellation is accepted.', row, request_id))
      // A follower gets the end of the job in its frames; other clients get it once.
      if (wasFollowing) return
      if (isTerminal(row.status)) await sendFrameInSlices(connection, await loadJobUpdate(row, app.runs, connection))
      else followers.follow(row, row.last_sequence, { detail: 'ending' })
    } catch (thrown) {
      const error = toCommandError(connection, thrown)
      if (!isJobMissing(connection, job_id, error)) return refuseTemporarily(connection, job_id, request_id, error)
      sendCommandRefusal(connection, 'unknown_job', job_id, request_id)
      sendJobFailure(connection, job_id, workflow_id, error)
    } finally {
      release()
    }
  },

  async reconnect_job({ data, request_id }, connection) {
    const { job_id, workflow_id = null, after_sequence = null } = data
    await reconnectOrRefuse(connection, { id: job_id, workflow_id }, after_sequence, request_id)
  },

  async get_status({ data, request_id }, connection) {
    const { app, principal, reader } = connection
    const job_id = data?.job_id ?? null
    if (job_id !== null)
      return connection.send({ ...(await readJobStatus(connection, job_id)), ...echoRequestId(request_id) })
    const owner = userShareKey(principal)
    const jobs = await runForReader(reader, collectActiveStatuses(connection), (work) =>
      app.schedulers.slices.begin(owner, work),
    )
    await sendFrameInSlices(connection, { type: 'status', jobs, ...echoRequestId(request_id) })
  },

  stream_input({ data, request_id }, connection) {
    const { job_id, input, handle, value } = data
    const job = findActiveJob(connection, job_id)
    const inputs = job?.inputs
    if (!job || !inputs) return refuseInput(connection, job_id, request_id)
    const problems = findStreamedValueProblems(job.plan, input, value ?? null, '/data/value')
    if (problems.length > 0) return sendCommandRefusal(connection, 'invalid_value', job_id, request_id, { problems })
    const result = inputs.pushInput(input, value ?? null, handle ?? undefined)
    if (result === 'ok')
      acknowledgeWhenStored(connection, job, inputs, createAck('The value is accepted.', job.row, request_id))
    else if (result === 'full')
      sendCommandRefusal(connection, 'not_running', job_id, request_id, { message: INPUT_FULL_MESSAGE })
    else sendCommandRefusal(connection, result, job_id, request_id)
  },

  end_input_stream({ data, request_id }, connection) {
    const { job_id, input, handle } = data
    const job = findActiveJob(connection, job_id)
    const inputs = job?.inputs
    if (!job || !inputs) return refuseInput(connection, job_id, request_id)
    const result = inputs.endInput(input, handle ?? undefined)
    if (result === 'ok')
      acknowledgeWhenStored(connection, job, inputs, createAck('The input has ended.', job.row, request_id))
    else sendCommandRefusal(connection, result as CommandRefusalCode, job_id, request_id)
  },

  update_node_properties({ data, request_id }, connection) {
    const { job_id, node_id, properties } = data
    const job = findActiveJob(connection, job_id)
    const inputs = job?.inputs
    if (!job || !inputs) return refuseInput(connection, job_id, request_id)
    const applied = inputs.updateProperties(node_id, properties)
    if (applied === 'full')
      return sendCommandRefusal(connection, 'not_running', job_id, request_id, { message: PROPERTIES_FULL_MESSAGE })
    if (applied === 'unknown_node') return sendCommandRefusal(connection, applied, job_id, request_id)
    const answer = { ...createAck('The properties are changed.', job.row, request_id), applied }
    acknowledgeWhenStored(connection, job, inputs, answer)
  },
}

function createSubmission(data: RunJobData): JobSubmission {
  const options = data.execution_options
  const requiresResult = data.require_terminal_result === true
  return {
    workflow_id: data.workflow_id ?? null,
    graph: (data.graph ?? null) as Graph | null,
    params: data.params ?? {},
    params_at: '/data/params',
    job_id: data.job_id ?? null,
    name: data.job_name ?? null,
    concurrent: data.concurrent ?? null,
    timeout_seconds: data.timeout_seconds ?? null,
    options: {
      persistence: options?.persistence ?? null,
      event_detail: options?.event_detail ?? null,
      asset_persistence: options?.asset_persistence ?? (requiresResult ? 'temporary' : null),
    },
    hasFollower: true,
    acceptsStreamInput: true,
  }
}

/** Null if the job was refused: the refusal is sent, and nothing is stored. */
async function submitRun(
  connection: CommandConnection,
  data: RunJobData,
  request_id: RequestId,
): Promise<SubmittedJob | null> {
  const { app, principal } = connection
  const { job_id = null, workflow_id = null } = data
  try {
    const submission = createSubmission(data)
    const preparing = app.runs.jobs.prepare(principal, submission)
    if (preparing) await preparing
    app.transport.followed_jobs.requireCapacity(userShareKey(principal))
    return app.runs.jobs.submit(principal, submission)
  } catch (thrown) {
    refuseRun(connection, { job_id, workflow_id }, request_id, toCommandError(connection, thrown))
    return null
  }
}

/** A job that existed before, or may exist, must not seem to have ended. */
function refuseRun(
  connection: CommandConnection,
  { job_id, workflow_id }: { job_id: string | null; workflow_id: string | null },
  request_id: RequestId,
  error: ServiceError,
): void {
  if (job_id === null) sendJobFailure(connection, connection.app.platform.id('job'), workflow_id, error)
  else if (error.code === 'CONFLICT')
    sendCommandRefusal(connection, 'job_id_in_use', job_id, request_id, { message: error.message })
  else if (isTransientError(error) && !isJobMissing(connection, job_id, error))
    refuseTemporarily(connection, job_id, request_id, error)
  else sendJobFailure(connection, job_id, workflow_id, error)
}

/** As `reconnect`, with an answer on failure: the end of a job that does not exist, but no end for a job that may exist. */
async function reconnectOrRefuse(
  connection: CommandConnection,
  { id, workflow_id }: Pick<JobTable, 'id'> & { workflow_id: string | null },
  after_sequence: number | null,
  request_id: RequestId,
): Promise<void> {
  try {
    await reconnect(connection, id, after_sequence)
  } catch (thrown) {
    const error = toCommandError(connection, thrown)
    if (isJobMissing(connection, id, error)) sendJobFailure(connection, id, workflow_id, error)
    else refuseTemporarily(connection, id, request_id, error)
  }
}

/** Sends the state of a job, the outputs that changed since the last report to this connection, and then live frames. */
async function reconnect(connection: CommandConnection, job_id: string, after_sequence: number | null): Promise<void> {
  const { app, principal, followers, reader } = connection
  const first = await app.runs.jobs.get(principal, job_id)
  const preparing = app.runs.jobs.preparePlan(first.row)
  if (preparing) await preparing
  const { row, active } = preparing ? await app.runs.jobs.get(principal, job_id) : first
  if (!isTerminal(row.status)) followers.requireCapacity(row)
  // The frames that an earlier loop has not sent are covered here.
  followers.stop(row.key)
  const { workflow_id, last_sequence } = row
  const reported = after_sequence ?? followers.lastReportedSequence(row.key)
  const queue_position = active ? app.runs.jobs.queuePosition(active) : 0
  // The follower starts at this state; its frames are held back until the state is sent.
  const release = followers.hold(job_id)
  try {
    if (!isTerminal(row.status)) followers.follow(row, last_sequence)
    connection.send({ type: 'job_resumed', job_id, workflow_id, status: toSocketStatus(row.status), last_sequence })
    const sendState = async () =>
      sendFrameInSlices(connection, await loadJobUpdate(row, app.runs, { queue_position, reader }))
    const sendChanged = async () =>
      sendOutputs(connection, row, await listChangedOutputs(app.runs, row, reported, reader))
    if (isTerminal(row.status)) await sendEnd(connection, sendChanged, sendState)
    else {
      await sendState()
      await sendChanged()
    }
    followers.recordReported(row.key, last_sequence)
  } catch (error) {
    // A refused client would not know where the follower starts.
    followers.stop(row.key)
    throw error
  } finally {
    release()
  }
}

/**
 * Sends the end of a job after its outputs, since clients stop listening at the end; also if the outputs cannot be read. Without a reader the state,
 * which may be large, is not read.
 */
async function sendEnd(
  { reader }: CommandConnection,
  sendOutputs: () => Promise<void>,
  sendState: () => Promise<void>,
): Promise<void> {
  try {
    await sendOutputs()
  } finally {
    if (!reader.hasEnded) await sendState()
  }
}

async function sendOutputs(
  connection: CommandConnection,
  row: JobTable,
  outputs: readonly ChangedOutput[],
): Promise<void> {
  const { app, reader, closed } = connection
  const memory = await estimateContainerBytes(outputs, app.schedulers.slices, reader.owner, reader)
  const release = memory > LARGE_RESPONSE_BYTES ? reader.hold(memory) : null
  const turns = app.schedulers.reading.turnsOf(userShareKey(row))
  const frames = new StoredJobFrames(row, app.runs)
  try {
    for (const { output_name, value, sequence } of outputs) {
      if (turns.over) await turns.next()
      while (connection.congested && !closed.aborted) await connection.drained()
      if (closed.aborted) return
      // The output before may have taken longer than a large graph stays compiled.
      await app.runs.jobs.preparePlan(row)
      const frame = frames.ofOutput(output_name, value, 'replace')
      frame.sequence = sequence
      await sendFrameInSlices(connection, frame)
    }
  } finally {
    release?.()
  }
}

async function readJobStatus(connection: CommandConnection, job_id: string): Promise<object> {
  const { app, principal } = connection
  try {
    const { row } = await app.runs.jobs.get(principal, job_id)
    return { type: 'status', ...createActiveStatus(connection, row) }
  } catch (thrown) {
    if (!['JOB_NOT_FOUND', 'JOB_EXPIRED'].includes(toServiceError(thrown).code)) throw thrown
    return { type: 'status', job_id, workflow_id: null, status: 'unknown', queue_position: null, last_sequence: 0 }
  }
}

/** The statuses of all active jobs, in steps: there may be very many. */
function* collectActiveStatuses(connection: CommandConnection): Steps<object[]> {
  const statuses: object[] = []
  for (const row of yield* connection.app.runs.jobs.listActive(connection.principal)) {
    const { created_at, started_at } = row
    statuses.push({ ...createActiveStatus(connection, row), created_at, started_at })
    yield
  }
  return statuses
}

function createActiveStatus(
  connection: CommandConnection,
  row: Pick<JobTable, 'id' | 'workflow_id' | 'status' | 'last_sequence'>,
) {
  const { id: job_id, workflow_id, last_sequence } = row
  const active = findActiveJob(connection, job_id)
  const queue_position = (active && connection.app.runs.jobs.queuePosition(active)) || null
  return { job_id, workflow_id, status: toSocketStatus(row.status), queue_position, last_sequence }
}

/** Refuses input for a job that does not run, or does not run now. */
function refuseInput(connection: CommandConnection, job_id: string, request_id: RequestId): void {
  const { app, principal } = connection
  try {
    sendCommandRefusal(
      connection,
      app.runs.jobs.awaitsRecovery(principal, job_id) ? 'unavailable' : 'not_running',
      job_id,
      request_id,
    )
  } catch (thrown) {
    refuseTemporarily(connection, job_id, request_id, thrown)
  }
}

function findActiveJob({ app, principal }: CommandConnection, job_id: string): ActiveJob | null {
  return app.runs.jobs.living(principal, job_id)
}
