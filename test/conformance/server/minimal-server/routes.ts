// The HTTP operations of the minimal server.
import type { ServerResponse } from 'node:http'
import type { Doc } from './documents.ts'
import { interfaceOf } from './graph.ts'
import { type Job, now, type StoredWorkflow } from './jobs.ts'
import { oneFile } from './multipart.ts'
import { Refusal } from './refusal.ts'
import { MOST_BYTES, type Service } from './service.ts'

export interface Request {
  values: Record<string, string>
  query: URLSearchParams
  headers: Doc
  body: Doc
  /** The bytes, where the body is no JSON. */
  bytes: Buffer
  response: ServerResponse
}

/** Null where the operation has answered itself. */
export type Answer = { status: number; body?: Doc; headers?: Record<string, string>; bytes?: Buffer } | null

type Route = (request: Request, service: Service) => Answer | Promise<Answer>

const ok = (body: Doc): Answer => ({ status: 200, body })
const number = (query: URLSearchParams, name: string) => (query.has(name) ? Number(query.get(name)) : undefined)

function revised(status: number, { record, revision }: StoredWorkflow, headers: Record<string, string> = {}): Answer {
  return { status, body: record, headers: { ...headers, ETag: `"${revision}"` } }
}

/** A graph of which nothing is wrong, as far as this server looks. */
function storedAnew(status: number, stored: StoredWorkflow, headers?: Record<string, string>): Answer {
  return revised(status, { ...stored, record: { ...stored.record, issues: [] } }, headers)
}

export const ROUTES: Readonly<Record<string, Route>> = {
  getReady: (_request, service) => ({ status: service.has('teapot') ? 418 : 200, body: { status: 'ok' } }),
  listModels: () => ok({ object: 'list', data: [] }),
  listAssets: (_request, service) => {
    const all = service.has('upload-listed') ? [...service.files.keys()] : []
    return ok({ assets: all.map((id) => ({ id })), next: null })
  },
  putSecret: ({ values, body }, service) => {
    service.secrets.set(values.name!, body.value)
    return ok({ name: values.name, is_set: true, description: '', updated_at: now(service.has) })
  },
  deleteSecret: ({ values }, service) => {
    service.secrets.delete(values.name!)
    return { status: 204 }
  },
  runWorkflow: async ({ values, body }, service) => {
    const job = service.run(service.workflow(values.id!), body.params ?? {})
    const background = body.background === true && !service.has('background-ignored')
    if (background) return { status: 202, body: runResult(job, true), headers: { Location: `/api/jobs/${job.job_id}` } }
    await job.settled()
    const failed = job.snapshot.status === 'failed' && service.has('failed-run-is-500')
    if (failed) throw new Refusal('INTERNAL_ERROR')
    return ok(runResult(job, false))
  },
  createWorkflow: ({ body }, service) => {
    const stored = service.createWorkflow(body)
    const headers = service.has('location-missing') ? undefined : { Location: `/api/workflows/${stored.id}` }
    return storedAnew(201, stored, headers)
  },
  getWorkflow: ({ values }, service) => revised(200, service.workflow(values.id!)),
  updateWorkflow: ({ values, body, headers }, service) => {
    return storedAnew(200, service.updateWorkflow(values.id!, body, headers['if-match']))
  },
  deleteWorkflow: ({ values }, service) => {
    service.workflow(values.id!)
    service.workflows.delete(values.id!)
    return { status: 204 }
  },
  getWorkflowInterface: ({ values }, service) => {
    const { id, graph } = service.workflow(values.id!)
    const record: Doc = interfaceOf(id, graph)
    if (service.has('every-input-optional')) for (const input of record.inputs) input.required = false
    return ok(record)
  },
  getCapabilities: (_request, service) => ok(service.capabilities()),
  preflightWorkflow: ({ body }, service) => ok(service.preflight(body)),
  listWorkflowSummaries: ({ query }, service) => ok(service.summaries(number(query, 'limit'), query.get('cursor'))),
  getWorkflowInterfaces: ({ body }, service) => ok(service.interfaces(body)),
  listNodeTypes: ({ query }, service) => ok(service.nodeTypes(number(query, 'limit'), number(query, 'cursor'))),
  uploadTemporaryAsset: ({ headers, bytes }, service) => {
    const file = oneFile(headers['content-type'] ?? '', bytes, service.has('second-part-ignored'))
    if (file.bytes.length > MOST_BYTES && !service.has('size-unlimited')) throw new Refusal('UPLOAD_TOO_LARGE')
    const key = `temp/1/${crypto.randomUUID()}`
    const kept = service.has('upload-cut') ? file.bytes.subarray(1) : file.bytes
    service.files.set(key, { bytes: kept, content_type: file.content_type })
    const { name, content_type } = file
    const uri = `/api/storage/${key}`
    return {
      status: 201,
      body: { version: 1, uri, name, content_type, size: file.bytes.length, expires_at: service.expiry() },
    }
  },
  getObject: ({ values }, service) => {
    const file = service.files.get(values.key!)
    if (!file) throw new Refusal('NOT_FOUND')
    return { status: 200, bytes: file.bytes, headers: { 'Content-Type': file.content_type } }
  },
  listJobs: ({ query }, service) => {
    if (service.has('valid-refused')) throw new Refusal('SERVICE_UNAVAILABLE')
    const { workflow_id, status } = Object.fromEntries(query) as Record<string, string | undefined>
    const all = [...service.jobs.values()].map(({ snapshot }) => snapshot)
    const wanted = service.has('status-ignored') ? undefined : status
    return ok(
      all.filter((one) => (!workflow_id || one.workflow_id === workflow_id) && (!wanted || one.status === wanted)),
    )
  },
  getJob: ({ values }, service) => ok(service.job(values.id!).snapshot),
  resumeJob: ({ values, body }, service) => {
    const job = service.job(values.id!)
    job.resume(body.value)
    return ok(job.snapshot)
  },
  followJobEvents: followed,
}

function runResult({ job_id, workflow, snapshot }: Job, background: boolean): Doc {
  const { status, result, error } = snapshot
  const told = error === null ? null : { message: error.message, type: error.type }
  const outputs = background ? {} : (result?.outputs ?? {})
  const shown = background ? 'accepted' : status
  return { job_id, workflow_id: workflow.id, status: shown, outputs, error: told, message_count: 0, background }
}

export const PREVIEW_ROUTES: Readonly<Record<string, Route>> = {
  submitJob: async ({ body }, service) => {
    const answer = await service.submit(body)
    return { status: 202, body: answer, headers: { Location: `/api/sdk/v1/jobs/${answer.job_id}` } }
  },
  getJobSnapshot: ({ values }, service) => ok(service.job(values.job_id!).snapshot),
  requestJobCancellation: ({ values }, service) => ok(service.cancel(values.job_id!)),
}

function followed({ values, query, headers, response }: Request, service: Service): Answer {
  const { has } = service
  if (has('unknown-job-empty') && !service.jobs.has(values.id!)) return ok([])
  const job = service.job(values.id!)
  const after = Number(headers['last-event-id'] ?? query.get('after_sequence') ?? 0)
  if (after > job.events.length && !has('ahead-is-empty')) throw new Refusal('SEQUENCE_AHEAD')
  if (job.swept && after < job.events.length) {
    if (has('swept-is-empty')) return ok([])
    throw new Refusal('REPLAY_EXPIRED')
  }
  const late = has('late-replay') && after > 0 ? 1 : 0
  if (String(headers.accept).includes('application/json')) return ok(job.events.slice(after + late))
  if (job.terminal && after >= job.events.length && !has('no-204')) return { status: 204 }
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Request-Id': headers['x-request-id'] })
  const tell = (event: Doc) => {
    const id = has('no-sse-id') ? '' : `id: ${event.sequence}\n`
    response.write(`${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  }
  const stop = job.follow(after + late, tell, () => response.end())
  response.on('close', stop)
  return null
}
