// The job commands of `/ws`: run, watch, feed and end jobs.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { JobTable } from '../db/schema.ts'
import type { PushResult } from '../engine/execution.ts'
import type { Graph } from '../engine/graph.ts'
import { toServiceError } from '../errors.ts'
import type { ActiveJob } from '../jobs/active-job.ts'
import type { JobHandle, Submission } from '../jobs/service.ts'
import { isTerminal, publicStatus } from '../jobs/states.ts'
import type { Connection } from './connection.ts'
import { jobUpdate, outputFrame } from './frames.ts'
import { changedOutputs } from './outputs.ts'

type JobCommands = Pick<
  WsCommandHandlers<Connection>,
  | 'run_job'
  | 'cancel_job'
  | 'reconnect_job'
  | 'get_status'
  | 'stream_input'
  | 'end_input_stream'
  | 'update_node_properties'
>

type RunJobData = Parameters<JobCommands['run_job']>[0]['data']

export const jobCommands: JobCommands = {
  async run_job({ data }, connection) {
    const { app, principal } = connection
    try {
      const { active, row, duplicate } = app.jobs.submit(principal, submissionOf(data))
      if (duplicate) return await reconnect(connection, row.id, null)
      await active!.accepted()
      connection.send({
        type: 'job_accepted',
        message: 'The job is accepted.',
        job_id: row.id,
        workflow_id: row.workflow_id,
      })
      connection.followers.follow(row, 0)
    } catch (thrown) {
      const job_id = data.job_id ?? app.platform.id('job')
      refuse(connection, job_id, data.workflow_id ?? null, thrown)
    }
  },

  async cancel_job({ data }, connection) {
    const { app, principal } = connection
    const ack = { type: 'cancel_accepted', message: 'The cancellation is accepted.', job_id: data.job_id }
    try {
      const watched = connection.followers.followsId(data.job_id)
      const { row } = await app.jobs.cancel(principal, data.job_id)
      connection.send({ ...ack, workflow_id: row.workflow_id })
      // Whoever watches the job sees its end there; anybody else is told once.
      if (watched) return
      if (isTerminal(row.status)) connection.send(jobUpdate(row, app))
      else connection.followers.follow(row, row.last_sequence, 'ending')
    } catch (thrown) {
      connection.send({ ...ack, workflow_id: data.workflow_id ?? null })
      refuse(connection, data.job_id, data.workflow_id ?? null, thrown)
    }
  },

  async reconnect_job({ data }, connection) {
    try {
      await reconnect(connection, data.job_id, data.after_sequence ?? null)
    } catch (thrown) {
      refuse(connection, data.job_id, data.workflow_id ?? null, thrown)
    }
  },

  async get_status({ data, request_id }, connection) {
    const { app, principal } = connection
    const job_id = data?.job_id ?? null
    const rows = job_id === null ? app.jobs.listActive(principal) : [(await app.jobs.get(principal, job_id)).row]
    const jobs = rows.map((row) => statusOf(connection, row))
    connection.send({ type: 'status', ...(request_id ? { request_id } : {}), jobs })
  },

  stream_input({ data }, connection) {
    const result = living(connection, data.job_id)?.execution?.pushInput(
      data.input,
      data.value ?? null,
      data.handle ?? undefined,
    )
    answerPush(connection, data, result ?? 'not_running')
  },

  end_input_stream({ data }, connection) {
    const result = living(connection, data.job_id)?.execution?.endInput(data.input, data.handle ?? undefined)
    answerPush(connection, data, result ?? 'not_running')
  },

  update_node_properties({ data }, connection) {
    const { job_id, node_id } = data
    const execution = living(connection, job_id)?.execution
    if (!execution) return connection.send({ error: 'not_running', message: PUSH_TEXT.not_running, job_id })
    const applied = execution.updateProperties(node_id, data.properties) ?? []
    connection.send({ type: 'node_properties_updated', job_id, node_id, applied })
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
    concurrent: data.concurrent ?? true,
    timeout_seconds: data.timeout_seconds ?? null,
    options: {
      persistence: options?.persistence ?? 'job',
      event_detail: options?.event_detail ?? 'full',
      asset_persistence: options?.asset_persistence ?? (terminal ? 'temporary' : 'auto'),
    },
  }
}

/** The state of a job, the outputs that changed since this connection was last told, and then what happens. */
async function reconnect(connection: Connection, job_id: string, after_sequence: number | null): Promise<void> {
  const { app, principal, followers } = connection
  const handle = await app.jobs.get(principal, job_id)
  const { row } = handle
  // From here to `follow` nothing waits: what is read is one state, and what follows goes on from it.
  const told = after_sequence ?? followers.told(row.key)
  connection.send({
    type: 'job_resumed',
    job_id,
    workflow_id: row.workflow_id,
    status: publicStatus(row.status),
    last_sequence: row.last_sequence,
  })
  connection.send(jobUpdate(row, app, positionOf(connection, handle)))
  for (const { output_name, value } of changedOutputs(app, row, told)) {
    connection.send(outputFrame(row, output_name, value, 'replace', app))
  }
  followers.tell(row.key, row.last_sequence)
  if (!isTerminal(row.status)) followers.follow(row, row.last_sequence)
}

function positionOf({ app }: Connection, { active }: JobHandle): number | undefined {
  return active ? app.jobs.position(active) : undefined
}

function statusOf(connection: Connection, row: JobTable) {
  const { id: job_id, workflow_id, status, last_sequence, created_at, started_at, finished_at } = row
  const active = living(connection, job_id)
  const queue_position = (active && connection.app.jobs.position(active)) || null
  return {
    job_id,
    workflow_id,
    status: publicStatus(status),
    queue_position,
    last_sequence,
    created_at,
    started_at,
    finished_at,
  }
}

function living({ app, principal }: Connection, job_id: string): ActiveJob | null {
  return app.jobs.living(principal, job_id)
}

/** A command that names a job and cannot be carried out ends with a `job_update` for the sender alone; the job is not touched. */
function refuse(connection: Connection, job_id: string, workflow_id: string | null, thrown: unknown): void {
  const error = toServiceError(thrown)
  if (error.status >= 500)
    connection.app.log.error({ err: error.cause ?? error, code: error.code, job_id }, 'a job command failed')
  connection.send({ type: 'job_update', status: 'failed', job_id, workflow_id, error: error.publicMessage })
}

const PUSH_TEXT: Readonly<Record<Exclude<PushResult, 'ok'>, string>> = {
  unknown_input: 'The job has no such input.',
  not_a_stream: 'That input is not a stream.',
  not_running: 'The job does not run, or the input has ended.',
}

function answerPush(
  connection: Connection,
  { job_id, input }: { job_id: string; input: string },
  result: PushResult,
): void {
  if (result === 'ok') connection.send({ type: 'input_accepted', message: 'The input is accepted.', job_id, input })
  else connection.send({ error: result, message: PUSH_TEXT[result], job_id })
}
