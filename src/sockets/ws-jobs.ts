// The job commands of `/ws`: run, watch, feed and end jobs. How a suspended one goes on is in a file of its own.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { JobTable } from '../db/schema.ts'
import { userKey } from '../db/scope.ts'
import type { Graph } from '../engine/graph.ts'
import { type ServiceError, toServiceError } from '../errors.ts'
import { doFor, LARGE_ANSWER, weigh } from '../held-answers.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import type { Submission } from '../jobs/service.ts'
import { isTerminal, socketStatus } from '../jobs/states.ts'
import type { Steps } from '../time-slices.ts'
import { streamedProblems } from '../workflows/params.ts'
import {
  ack,
  ackWhenStored,
  echo,
  end,
  isMissing,
  isPassing,
  type Refusal,
  type RequestId,
  refuse,
  refuseNow,
} from './answers.ts'
import { outputFrame, presentState } from './frames.ts'
import { sendInSlices } from './large-frames.ts'
import { type ChangedOutput, changedOutputs } from './outputs.ts'
import type { Peer } from './peer.ts'

type JobCommands = Pick<
  WsCommandHandlers<Peer>,
  | 'run_job'
  | 'cancel_job'
  | 'reconnect_job'
  | 'get_status'
  | 'stream_input'
  | 'end_input_stream'
  | 'update_node_properties'
>

const FULL = 'For this input no more values are kept. Send the next ones once some were taken.'

const CHANGED = 'The changes of properties of this job are too large together. No more of them are kept.'

type RunJobData = Parameters<JobCommands['run_job']>[0]['data']

export const jobCommands: JobCommands = {
  async run_job({ data, request_id }, connection) {
    const submitted = await submit(connection, data, request_id)
    if (submitted === null) return
    const { active, row, duplicate } = submitted
    if (duplicate) return reconnected(connection, row, null, request_id)
    if (!active) throw new Error('a new job is always active')
    try {
      await active.accepted()
    } catch (thrown) {
      // Nothing terminal is told of a job that may be stored all the same.
      const error = toServiceError(thrown)
      if (error.code === 'OUTCOME_UNKNOWN') return refuseNow(connection, row.id, request_id, error)
      return end(connection, row.id, row.workflow_id, error)
    }
    connection.send(ack('The job is accepted.', row, request_id))
    connection.followers.follow(row, 0, { feed: active.feed })
  },

  async cancel_job({ data, request_id }, connection) {
    const { app, principal, followers } = connection
    const { job_id, workflow_id = null } = data
    // The end of the job comes after the acknowledgement, which waits for the commit.
    const release = followers.hold(job_id)
    const watched = followers.followsId(job_id)
    try {
      const { row } = await app.jobs.cancel(principal, job_id)
      connection.send(ack('The cancellation is accepted.', row, request_id))
      // Who follows the job sees its end there; others are told once.
      if (watched) return
      if (isTerminal(row.status)) await sendInSlices(connection, await presentState(row, app, connection))
      else followers.follow(row, row.last_sequence, { detail: 'ending' })
    } catch (thrown) {
      const error = toServiceError(thrown)
      if (!isMissing(connection, job_id, error)) return refuseNow(connection, job_id, request_id, error)
      refuse(connection, 'unknown_job', job_id, request_id)
      end(connection, job_id, workflow_id, error)
    } finally {
      release()
    }
  },

  async reconnect_job({ data, request_id }, connection) {
    const { job_id, workflow_id = null, after_sequence = null } = data
    await reconnected(connection, { id: job_id, workflow_id }, after_sequence, request_id)
  },

  async get_status({ data, request_id }, connection) {
    const { app, principal, reader } = connection
    const job_id = data?.job_id ?? null
    if (job_id !== null) return connection.send({ ...(await statusOf(connection, job_id)), ...echo(request_id) })
    const owner = userKey(principal)
    const jobs = await doFor(reader, activeStatuses(connection), (work) => app.slices.begin(owner, work))
    await sendInSlices(connection, { type: 'status', jobs, ...echo(request_id) })
  },

  stream_input({ data, request_id }, connection) {
    const { job_id, input, handle, value } = data
    const job = living(connection, job_id)
    const inlet = job?.inlet
    if (!job || !inlet) return refuseInput(connection, job_id, request_id)
    const problems = streamedProblems(job.plan, input, value ?? null, '/data/value')
    if (problems.length > 0) return refuse(connection, 'invalid_value', job_id, request_id, { problems })
    const result = inlet.pushInput(input, value ?? null, handle ?? undefined)
    if (result === 'ok') ackWhenStored(connection, job, inlet, ack('The value is accepted.', job.row, request_id))
    else if (result === 'full') refuse(connection, 'not_running', job_id, request_id, { message: FULL })
    else refuse(connection, result, job_id, request_id)
  },

  end_input_stream({ data, request_id }, connection) {
    const { job_id, input, handle } = data
    const job = living(connection, job_id)
    const inlet = job?.inlet
    if (!job || !inlet) return refuseInput(connection, job_id, request_id)
    const result = inlet.endInput(input, handle ?? undefined)
    if (result === 'ok') ackWhenStored(connection, job, inlet, ack('The input has ended.', job.row, request_id))
    else refuse(connection, result as Refusal, job_id, request_id)
  },

  update_node_properties({ data, request_id }, connection) {
    const { job_id, node_id, properties } = data
    const job = living(connection, job_id)
    const inlet = job?.inlet
    if (!job || !inlet) return refuseInput(connection, job_id, request_id)
    const applied = inlet.updateProperties(node_id, properties)
    if (applied === 'full') return refuse(connection, 'not_running', job_id, request_id, { message: CHANGED })
    if (applied === 'unknown_node') return refuse(connection, applied, job_id, request_id)
    const answer = { ...ack('The properties are changed.', job.row, request_id), applied }
    ackWhenStored(connection, job, inlet, answer)
  },
}

function submissionOf(data: RunJobData): Submission {
  const options = data.execution_options
  const terminal = data.require_terminal_result === true
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
      asset_persistence: options?.asset_persistence ?? (terminal ? 'temporary' : null),
    },
    watched: true,
    fed: true,
  }
}

type RunJobAnswer = ReturnType<Peer['app']['jobs']['submit']>

/** Null where the job was refused, which is answered then: nothing is stored. */
async function submit(connection: Peer, data: RunJobData, request_id: RequestId): Promise<RunJobAnswer | null> {
  const { app, principal } = connection
  const { job_id = null, workflow_id = null } = data
  try {
    const submission = submissionOf(data)
    const preparing = app.jobs.prepare(principal, submission)
    if (preparing) await preparing
    app.followed.requirePlace(userKey(principal))
    return app.jobs.submit(principal, submission)
  } catch (thrown) {
    refuseRun(connection, { job_id, workflow_id }, request_id, toServiceError(thrown))
    return null
  }
}

/** Nothing terminal is told of a job that was there before, or may be. */
function refuseRun(
  connection: Peer,
  { job_id, workflow_id }: { job_id: string | null; workflow_id: string | null },
  request_id: RequestId,
  error: ServiceError,
): void {
  if (job_id === null) end(connection, connection.app.platform.id('job'), workflow_id, error)
  else if (error.code === 'CONFLICT')
    refuse(connection, 'job_id_in_use', job_id, request_id, { message: error.message })
  else if (isPassing(error) && !isMissing(connection, job_id, error)) refuseNow(connection, job_id, request_id, error)
  else end(connection, job_id, workflow_id, error)
}

/** As `reconnect`, with an answer where that fails: the end of a job that there is not, and nothing terminal for one that may live. */
async function reconnected(
  connection: Peer,
  { id, workflow_id }: Pick<JobTable, 'id'> & { workflow_id: string | null },
  after_sequence: number | null,
  request_id: RequestId,
): Promise<void> {
  try {
    await reconnect(connection, id, after_sequence)
  } catch (thrown) {
    const error = toServiceError(thrown)
    if (isMissing(connection, id, error)) end(connection, id, workflow_id, error)
    else refuseNow(connection, id, request_id, error)
  }
}

/** The state of a job, the outputs that changed since this connection was last told, and then what happens. */
async function reconnect(connection: Peer, job_id: string, after_sequence: number | null): Promise<void> {
  const { app, principal, followers, reader } = connection
  const first = await app.jobs.get(principal, job_id)
  const preparing = app.jobs.preparePlan(first.row)
  if (preparing) await preparing
  const { row, active } = preparing ? await app.jobs.get(principal, job_id) : first
  if (!isTerminal(row.status)) followers.requirePlace(row)
  // What an earlier loop has not sent yet is told here.
  followers.stop(row.key)
  const { workflow_id, last_sequence } = row
  const told = after_sequence ?? followers.told(row.key)
  const queue_position = active ? app.jobs.position(active) : 0
  // It is followed from this state on, and what follows is held back until the state has been told.
  const release = followers.hold(job_id)
  try {
    if (!isTerminal(row.status)) followers.follow(row, last_sequence)
    connection.send({ type: 'job_resumed', job_id, workflow_id, status: socketStatus(row.status), last_sequence })
    const tellState = async () => sendInSlices(connection, await presentState(row, app, { queue_position, reader }))
    const tellOutputs = async () => sendOutputs(connection, row, await changedOutputs(app, row, told, reader))
    if (isTerminal(row.status)) await tellEnd(connection, tellOutputs, tellState)
    else {
      await tellState()
      await tellOutputs()
    }
    followers.tell(row.key, last_sequence)
  } catch (error) {
    // Who is refused does not know from where on it would be followed.
    followers.stop(row.key)
    throw error
  } finally {
    release()
  }
}

/**
 * The end of a job comes behind its outputs, since clients listen no longer once they are told of it. They are told of it also where the outputs cannot
 * be read. Where nobody is left it is not read: it may be large.
 */
async function tellEnd(
  { reader }: Peer,
  tellOutputs: () => Promise<void>,
  tellState: () => Promise<void>,
): Promise<void> {
  try {
    await tellOutputs()
  } finally {
    if (!reader.ended) await tellState()
  }
}

async function sendOutputs(connection: Peer, row: JobTable, outputs: readonly ChangedOutput[]): Promise<void> {
  const { app, reader, closed } = connection
  const memory = await weigh(outputs, app.slices, reader.owner, reader)
  const release = memory > LARGE_ANSWER ? reader.hold(memory) : null
  try {
    for (const { output_name, value, sequence } of outputs) {
      if (closed.aborted) return
      // The one before may have taken longer than a large graph is kept compiled.
      await app.jobs.preparePlan(row)
      await sendInSlices(connection, { ...outputFrame(row, output_name, value, 'replace', app), sequence })
    }
  } finally {
    release?.()
  }
}

async function statusOf(connection: Peer, job_id: string): Promise<object> {
  const { app, principal } = connection
  try {
    const { row } = await app.jobs.get(principal, job_id)
    return { type: 'status', ...activeStatus(connection, row) }
  } catch (thrown) {
    if (!['JOB_NOT_FOUND', 'JOB_EXPIRED'].includes(toServiceError(thrown).code)) throw thrown
    return { type: 'status', job_id, workflow_id: null, status: 'unknown', queue_position: null, last_sequence: 0 }
  }
}

/** Of all jobs that have not ended, of which there may be very many. */
function* activeStatuses(connection: Peer): Steps<object[]> {
  const statuses: object[] = []
  for (const row of yield* connection.app.jobs.listActive(connection.principal)) {
    const { created_at, started_at } = row
    statuses.push({ ...activeStatus(connection, row), created_at, started_at })
    yield
  }
  return statuses
}

function activeStatus(connection: Peer, row: Pick<JobTable, 'id' | 'workflow_id' | 'status' | 'last_sequence'>) {
  const { id: job_id, workflow_id, last_sequence } = row
  const active = living(connection, job_id)
  const queue_position = (active && connection.app.jobs.position(active)) || null
  return { job_id, workflow_id, status: socketStatus(row.status), queue_position, last_sequence }
}

/** Of a job that takes nothing: it does not run, or it does not run now. */
function refuseInput(connection: Peer, job_id: string, request_id: RequestId): void {
  const { app, principal } = connection
  try {
    refuse(connection, app.jobs.awaitsRecovery(principal, job_id) ? 'unavailable' : 'not_running', job_id, request_id)
  } catch (thrown) {
    refuseNow(connection, job_id, request_id, thrown)
  }
}

function living({ app, principal }: Peer, job_id: string): ActiveJob | null {
  return app.jobs.living(principal, job_id)
}
