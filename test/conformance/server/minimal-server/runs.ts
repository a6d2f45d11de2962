// Job commands on the socket of the minimal server: runs with live frames, reconnections and cancellations.
import type { Doc } from './documents.ts'
import type { Job } from './jobs.ts'
import { Refusal } from './refusal.ts'
import type { Service } from './service.ts'

type Send = (frame: Doc) => void

/** The job commands; each is answered by frames. */
export const JOB_COMMANDS: Readonly<Record<string, (data: Doc, service: Service, send: Send) => void>> = {
  run_job: ({ job_id, workflow_id, params }, service, send) => {
    const job = service.run(service.workflow(workflow_id), params ?? {}, job_id)
    if (!service.has('run-not-acknowledged')) send({ message: 'The job has started.', job_id: job.job_id, workflow_id })
    tell(job, service, send)
  },
  cancel_job: ({ job_id }, service, send) => {
    const job = service.jobs.get(job_id)
    if (job) {
      send({ message: 'The job is told to stop.', job_id, workflow_id: job.workflow.id })
      return job.cancel()
    }
    const message = 'The job does not exist.'
    send({ error: 'unknown_job', code: 'JOB_NOT_FOUND', message, job_id })
    if (!service.has('unknown-cancel-silent')) send(failed(job_id, message))
  },
  reconnect_job: ({ job_id }, service, send) => {
    const job = service.jobs.get(job_id)
    if (!job) return send(failed(job_id, 'The job does not exist.'))
    const { status, last_sequence } = job.snapshot
    send({ type: 'job_resumed', job_id, workflow_id: job.workflow.id, status, last_sequence })
    if (service.has('reconnect-restarts')) send(update(job, { status: 'running' }))
    send(terminal(job, service))
  },
}

function tell(job: Job, service: Service, send: Send): void {
  const { has } = service
  const on = (event: Doc) => {
    if (event.type === 'job_status' && event.status === 'running')
      send(update(job, { status: 'running', ...sequenceOf(event, service) }))
    if (event.type === 'job_terminal') {
      send(terminal(job, service))
      if (has('terminal-twice')) send(terminal(job, service))
    }
  }
  job.follow(0, on, () => {})
}

function update({ job_id, workflow }: Job, more: Doc): Doc {
  return { type: 'job_update', job_id, workflow_id: workflow.id, ...more }
}

function terminal(job: Job, service: Service): Doc {
  const { status, result, error } = job.snapshot
  const of = { status, ...sequenceOf(job.events.at(-1)!, service) }
  if (status === 'failed') return update(job, { ...of, error: error.message })
  if (status === 'cancelled') return update(job, of)
  const named = Object.entries(result.outputs)
  const outputs = service.has('plain-outputs')
    ? result.outputs
    : Object.fromEntries(named.map(([name, value]) => [name, [value]]))
  return update(job, { ...of, result: { outputs } })
}

function sequenceOf({ sequence }: Doc, service: Service): Doc {
  return service.has('frames-without-sequence') ? {} : { sequence }
}

export function failed(job_id: string, error: string, code = 'JOB_NOT_FOUND'): Doc {
  return { type: 'job_update', job_id, workflow_id: null, status: 'failed', error, code, message: error }
}

/** What is answered to data that is not what the schema of a job command says. */
export function invalid(command: string, data: Doc, details: readonly object[], service: Service): Doc {
  const job_id = typeof data?.job_id === 'string' ? data.job_id : undefined
  if (service.has('invalid-command-as-update') && job_id !== undefined)
    return failed(job_id, 'The data is wrong.', 'INVALID_REQUEST')
  const said = { code: 'INVALID_REQUEST', message: 'The command does not match its schema.' }
  return {
    error: 'invalid_command',
    ...said,
    details,
    problems: details,
    command,
    ...(job_id === undefined ? {} : { job_id }),
  }
}

export function refusedRun(error: unknown, { job_id = 'unknown' }: Doc): Doc {
  if (error instanceof Refusal) return failed(job_id, error.message, error.code)
  return failed(job_id, 'Something went wrong.', 'INTERNAL_ERROR')
}
