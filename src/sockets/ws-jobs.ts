// The job commands of `/ws`: run, watch, feed and end jobs. How a suspended one goes on is in a file of its own.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { JobTable } from '../db/schema.ts'
import type { Graph } from '../engine/graph.ts'
import { toServiceError } from '../errors.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import type { Submission } from '../jobs/service.ts'
import { isTerminal, socketStatus } from '../jobs/states.ts'
import { streamedProblems } from '../workflows/params.ts'
import { ack, ackWhenStored, echo, end, type Refusal, refuse } from './answers.ts'
import { jobUpdate, outputFrame } from './frames.ts'
import { changedOutputs } from './outputs.ts'
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

type RunJobData = Parameters<JobCommands['run_job']>[0]['data']

export const jobCommands: JobCommands = {
  async run_job({ data, request_id }, connection) {
    const { app, principal } = connection
    try {
      const { active, row, duplicate } = app.jobs.submit(principal, submissionOf(data))
      if (duplicate) return await reconnect(connection, row.id, null)
      if (!active) throw new Error('a new job is always active')
      await active.accepted()
      connection.send(ack('The job is accepted.', row, request_id))
      connection.followers.follow(row, 0, { feed: active.feed })
    } catch (thrown) {
      const error = toServiceError(thrown)
      const { job_id, workflow_id } = data
      if (error.code === 'CONFLICT' && job_id)
        return refuse(connection, 'job_id_in_use', job_id, request_id, { message: error.message })
      end(connection, job_id ?? app.platform.id('job'), workflow_id ?? null, error)
    }
  },

  async cancel_job({ data, request_id }, connection) {
    const { app, principal } = connection
    const message = 'The cancellation is accepted.'
    try {
      const { row: before } = await app.jobs.get(principal, data.job_id)
      // Said before it is done, so that no end overtakes it. Whoever watches the job sees its end there; anybody else is told once.
      connection.send(ack(message, before, request_id))
      const watched = connection.followers.followsId(data.job_id)
      const { row } = await app.jobs.cancel(principal, data.job_id)
      if (watched) return
      if (isTerminal(row.status)) connection.send(jobUpdate(row, app))
      else connection.followers.follow(row, row.last_sequence, { detail: 'ending' })
    } catch (thrown) {
      const workflow_id = data.workflow_id ?? null
      connection.send(ack(message, { id: data.job_id, workflow_id }, request_id))
      end(connection, data.job_id, workflow_id, thrown)
    }
  },

  async reconnect_job({ data }, connection) {
    try {
      await reconnect(connection, data.job_id, data.after_sequence ?? null)
    } catch (thrown) {
      end(connection, data.job_id, data.workflow_id ?? null, thrown)
    }
  },

  async get_status({ data, request_id }, connection) {
    const { app, principal } = connection
    const job_id = data?.job_id ?? null
    if (job_id !== null) return connection.send({ ...(await statusOf(connection, job_id)), ...echo(request_id) })
    const jobs = app.jobs.listActive(principal).map((row) => ({
      ...activeStatus(connection, row),
      created_at: row.created_at,
      started_at: row.started_at,
    }))
    connection.send({ type: 'status', jobs, ...echo(request_id) })
  },

  stream_input({ data, request_id }, connection) {
    const { job_id, input, handle, value } = data
    const job = living(connection, job_id)
    const inlet = job?.inlet
    if (!job || !inlet) return refuse(connection, 'not_running', job_id, request_id)
    const problems = streamedProblems(job.plan, input, value ?? null, '/data/value')
    if (problems.length > 0) return refuse(connection, 'invalid_value', job_id, request_id, { problems })
    const result = inlet.pushInput(input, value ?? null, handle ?? undefined)
    if (result === 'ok') ackWhenStored(connection, job, ack('The value is accepted.', job.row, request_id), request_id)
    else if (result === 'full') refuse(connection, 'not_running', job_id, request_id, { message: FULL })
    else refuse(connection, result, job_id, request_id)
  },

  end_input_stream({ data, request_id }, connection) {
    const { job_id, input, handle } = data
    const job = living(connection, job_id)
    const result = job?.inlet?.endInput(input, handle ?? undefined) ?? 'not_running'
    if (job && result === 'ok')
      ackWhenStored(connection, job, ack('The input has ended.', job.row, request_id), request_id)
    else refuse(connection, result as Refusal, job_id, request_id)
  },

  update_node_properties({ data, request_id }, connection) {
    const { job_id, node_id, properties } = data
    const job = living(connection, job_id)
    const inlet = job?.inlet
    if (!job || !inlet) return refuse(connection, 'not_running', job_id, request_id)
    const changed = inlet.updateProperties(node_id, properties)
    if (changed === null) return refuse(connection, 'unknown_node', job_id, request_id)
    const { applied } = changed
    const answer = { ...ack('The properties are changed.', job.row, request_id), applied }
    ackWhenStored(connection, job, answer, request_id)
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

/** The state of a job, the outputs that changed since this connection was last told, and then what happens. */
async function reconnect(connection: Peer, job_id: string, after_sequence: number | null): Promise<void> {
  const { app, principal, followers } = connection
  const { row, active } = await app.jobs.get(principal, job_id)
  // What an earlier loop has not sent yet is told here.
  followers.stop(row.key)
  // From here to `follow` nothing waits: what is read is one state, and what follows goes on from it.
  const { workflow_id, last_sequence } = row
  const told = after_sequence ?? followers.told(row.key)
  connection.send({ type: 'job_resumed', job_id, workflow_id, status: socketStatus(row.status), last_sequence })
  connection.send(jobUpdate(row, app, active ? app.jobs.position(active) : 0))
  for (const { output_name, value } of changedOutputs(app, row, told)) {
    connection.send(outputFrame(row, output_name, value, 'replace', app))
  }
  followers.tell(row.key, last_sequence)
  if (!isTerminal(row.status)) followers.follow(row, last_sequence)
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

function activeStatus(connection: Peer, row: JobTable) {
  const { id: job_id, workflow_id, last_sequence } = row
  const active = living(connection, job_id)
  const queue_position = (active && connection.app.jobs.position(active)) || null
  return { job_id, workflow_id, status: socketStatus(row.status), queue_position, last_sequence }
}

function living({ app, principal }: Peer, job_id: string): ActiveJob | null {
  return app.jobs.living(principal, job_id)
}
