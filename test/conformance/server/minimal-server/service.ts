// What the minimal server does, whichever door asks: workflows, preflight, discovery, submissions.
import { randomUUID } from 'node:crypto'
import type { Defect } from './defects.ts'
import type { Doc } from './documents.ts'
import { etagOf, graphIssues, inputIssues, interfaceOf, NODE_TYPES, typeRecord } from './graph.ts'
import { Job, now, type StoredWorkflow } from './jobs.ts'
import { type File, MOST_INLINE, withFiles } from './media.ts'
import { Refusal } from './refusal.ts'

const ENCODINGS = ['messagepack', 'json-text']
const MOST_IDS = 100
export const MOST_BYTES = 65_536
/** Jobs that a judgement cannot make: one that is past its retention, and one whose events are. */
export const EXPIRED_JOB = 'job-expired'
export const SWEPT_JOB = 'job-swept'

export class Service {
  readonly workflows = new Map<string, StoredWorkflow>()
  readonly jobs = new Map<string, Job>()
  readonly secrets = new Map<string, string>()
  readonly files = new Map<string, File>()
  readonly preview: boolean
  readonly has: (defect: Defect) => boolean
  readonly #keys = new Map<string, { hash: string; job: Job; answer: Doc }>()
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()

  constructor(preview: boolean, has: (defect: Defect) => boolean) {
    this.preview = preview
    this.has = has
    this.#sweep()
  }

  /** A job that has ended long ago: its events are gone. */
  #sweep(): void {
    const stored = this.createWorkflow({ name: 'of old', graph: { nodes: [], edges: [] } })
    this.workflows.delete(stored.id)
    const job = new Job(SWEPT_JOB, stored, {}, null, this.has)
    job.swept = true
    this.jobs.set(SWEPT_JOB, job)
    void job.start()
  }

  /** When what is stored now is let go. */
  expiry(): string {
    return this.has('upload-expired') ? '2001-01-01T00:00:00.000Z' : new Date(Date.now() + 3_600_000).toISOString()
  }

  capabilities(socket = false): Doc {
    const state = (on: boolean) => (on ? 'available' : 'unavailable')
    const jobs = state(this.preview && !this.has('jobs-unannounced'))
    const batch = this.has('batch-limit-lies') ? 50 : MOST_IDS
    return {
      protocol_version: this.has('numeric-protocol') ? 1 : '1',
      server_version: 'minimal',
      server_time: this.has('old-time') ? '2001-01-01T00:00:00.000Z' : now(this.has),
      supported_encodings: ENCODINGS,
      default_encoding: this.has('text-by-default') ? 'json-text' : 'messagepack',
      profiles: {
        discovery: 'available',
        execution: jobs,
        preflight: 'available',
        model_catalog: 'unavailable',
        temporary_asset_upload: state(!this.has('uploads-unannounced')),
        jobs,
      },
      registry_revision: 1,
      auth_modes: ['trusted_local', 'bearer'],
      asset_uri_schemes: ['asset://', '/api/storage/'],
      execution_options: {
        persistence: ['job'],
        event_detail: ['full'],
        asset_persistence: ['temporary'],
        defaults: { persistence: 'job', event_detail: 'full', asset_persistence: 'temporary' },
      },
      limits: {
        max_rpc_batch: socket && this.has('socket-limits') ? 7 : batch,
        max_inline_bytes: MOST_INLINE,
        max_upload_bytes: MOST_BYTES,
        max_queued_jobs: 100,
        max_job_event_replay: this.has('limits-of-one') ? 1 : 10_000,
        request_timeout_seconds: 30,
        idempotency_retention_seconds: 86_400,
      },
    }
  }

  createWorkflow(request: Doc): StoredWorkflow {
    const id = `wf-${randomUUID()}`
    const time = now(this.has)
    return this.#keep(id, request, time, time, 1)
  }

  /** @throws Refusal where the row has another revision than the caller has seen */
  updateWorkflow(id: string, request: Doc, seen: string | undefined): StoredWorkflow {
    const { record, revision } = this.workflow(id)
    const stale = seen !== undefined && seen !== '*' && seen !== `"${revision}"`
    if (stale && !this.has('if-match-ignored')) throw new Refusal('PRECONDITION_FAILED')
    return this.#keep(id, request, record.created_at, now(this.has), revision + 1)
  }

  #keep(id: string, request: Doc, created_at: string, updated_at: string, revision: number): StoredWorkflow {
    const { name, description, graph, tags, settings, run_mode, access } = request
    const schema = { type: 'object', properties: {}, required: [] }
    const record = {
      id,
      name,
      description: description ?? '',
      tags: tags ?? [],
      access: access ?? 'private',
      graph,
      input_schema: schema,
      output_schema: schema,
      settings: settings ?? {},
      run_mode: run_mode ?? 'workflow',
      workspace_id: null,
      created_at,
      updated_at,
      etag: etagOf(graph),
    }
    const stored = { id, name, graph, etag: record.etag, record, revision }
    this.workflows.set(id, stored)
    return stored
  }

  workflow(id: string): StoredWorkflow {
    const stored = this.workflows.get(id)
    if (!stored) throw new Refusal('WORKFLOW_NOT_FOUND')
    return stored
  }

  summaries(limit = 50, cursor: string | null = null): Doc {
    const all = [...this.workflows.values()]
    const from = cursor === null ? 0 : Number(cursor)
    const to = from + limit
    const end = to < all.length
    const page = all.slice(this.has('last-page-repeats') && !end && from > 0 ? from - 1 : from, to)
    const workflows = page.map(({ id, name, etag }) => {
      return {
        id,
        name,
        description: '',
        revision: this.has('other-revision') ? etagOf(id) : etag,
        registry_revision: 1,
        run_mode: 'workflow',
      }
    })
    return { workflows, next: end ? String(to) : null }
  }

  interfaces({ ids }: Doc): Doc {
    const known = ids.filter((id: string) => this.workflows.has(id))
    if (this.has('interfaces-unordered')) known.reverse()
    const missing = ids.filter((id: string) => !this.workflows.has(id))
    return {
      interfaces: known.map((id: string) => interfaceOf(id, this.workflows.get(id)!.graph)),
      errors: missing.map((workflow_id: string) => {
        return { workflow_id, code: 'workflow_not_found', message: 'The workflow does not exist.' }
      }),
    }
  }

  nodeTypes(limit = 50, cursor = 0): Doc {
    const uses = Object.entries(NODE_TYPES).flatMap(([node_type, { inputs, outputs }]) => [
      ...Object.entries(inputs).map(([pin, type]) => ({ node_type, pin, type, direction: 'input' })),
      ...Object.entries(outputs).map(([pin, type]) => ({ node_type, pin, type, direction: 'output' })),
    ])
    const signatures = [...new Set(uses.map(({ type }) => type))].sort()
    const types = signatures.slice(cursor, cursor + limit).map((signature) => {
      const own = uses.filter(({ type }) => type === signature)
      const count = (direction: string) => own.filter((use) => use.direction === direction).length
      const examples = own.slice(0, 2).map(({ node_type, pin, direction }) => ({ node_type, pin, direction }))
      const node_count = new Set(own.map(({ node_type }) => node_type)).size
      const counted = { input_uses: count('input'), output_uses: count('output'), node_count }
      return { signature, ...typeRecord(signature), values_truncated: false, ...counted, examples }
    })
    const next = cursor + limit < signatures.length ? cursor + limit : null
    return {
      version: 1,
      registry_revision: 1,
      registry_ready: true,
      node_count: Object.keys(NODE_TYPES).length,
      type_count: this.has('page-type-count') ? types.length : signatures.length,
      cursor,
      next_cursor: next,
      types,
      unavailable_packs: [],
    }
  }

  preflight({ workflow_id, workflow_etag, level, inputs, execution_target }: Doc): Doc {
    if (this.has('unknown-workflow-named') && !this.workflows.has(workflow_id))
      throw new Refusal('WORKFLOW_NOT_FOUND', [{ path: workflow_id, message: 'is unknown' }])
    const { graph, etag } = this.workflow(workflow_id)
    const mismatch = workflow_etag != null && workflow_etag !== etag && !this.has('etag-ignored')
    const issues = [...graphIssues(graph), ...inputIssues(graph, inputs ?? {})].filter(
      ({ code }) => !this.#overlooked(code),
    )
    if (mismatch)
      issues.push({
        severity: 'error',
        code: 'workflow_etag_mismatch',
        message: 'The etag is another.',
        node_id: null,
        pin_name: null,
      })
    if (this.has('issues-nowhere')) for (const issue of issues) Object.assign(issue, { node_id: null, pin_name: null })
    const requirements = level === 'static' || level == null ? [] : this.#requirements(inputs, level, execution_target)
    if (this.has('preflight-makes-job')) this.#admit(this.workflow(workflow_id), inputs ?? {}, {})
    const runnable = issues.length === 0 && requirements.every(({ status }) => status === 'available')
    return {
      version: 1,
      level: level ?? 'static',
      workflow_id,
      workflow_etag: etag,
      runnable: this.has('always-runnable') || (runnable && !this.has('never-runnable')),
      issues,
      requirements,
      cost: this.has('free-costs') ? COST : null,
    }
  }

  #overlooked(code: string): boolean {
    if (code === 'unknown_input') return this.has('unknown-inputs-ignored')
    if (code === 'missing_input') return this.has('missing-inputs-ignored')
    if (code === 'input_type_mismatch') return this.has('types-unchecked')
    if (code === 'graph_dangling_edge') return this.has('dangling-edges-ignored')
    return /input_(below|above)/.test(code) && this.has('limits-unchecked')
  }

  #requirements(inputs: Doc, level: string, target: Doc): Doc[] {
    const ids = [...assetsIn(inputs, this.has('assets-shallow') ? 1 : Number.POSITIVE_INFINITY)]
    const found = this.has('requirements-unsorted') ? ids.reverse() : [...new Set(ids)].sort()
    const assets = found.map((id) => ({
      kind: 'asset',
      id,
      name: id,
      status: 'missing',
      blocking: true,
      message: null,
    }))
    if (level !== 'execution' || target == null || target.kind === 'local' || this.has('fallback-target')) return assets
    const id = target.worker_id ?? target.runner_id
    return [...assets, { kind: 'worker', id, name: id, status: 'missing', blocking: true, message: null }]
  }

  job(id: string): Job {
    const job = this.jobs.get(id)
    if (job) return job
    if (id === EXPIRED_JOB && !this.has('expired-not-found')) throw new Refusal('JOB_EXPIRED')
    if (this.has('malformed-id-told') && !/^[\w-]+$/.test(id)) throw new Refusal('INVALID_REQUEST')
    throw new Refusal('JOB_NOT_FOUND')
  }

  async submit(request: Doc, socket = false): Promise<Doc> {
    const key = (socket && this.has('socket-keys') ? 'socket ' : '') + request.idempotency_key
    const hash = this.has('nulls-count') ? JSON.stringify({ ...request, client_request_id: 0 }) : hashOf(request)
    if (this.has('etag-before-key')) this.#checkEtag(request)
    const known = this.#keys.get(key)
    if (known && !this.has('second-job')) return this.#duplicate(known, hash, request)
    if (this.has('two-at-once')) await this.#another(key)
    const { workflow_id, inputs, workflow_etag, options } = request
    this.#checkEtag(request)
    const preflight = this.preflight({ workflow_id, workflow_etag, inputs, level: 'execution' })
    if (!preflight.runnable && !this.has('accepts-unready')) {
      const graph = preflight.issues.some(({ code }: Doc) => code.startsWith('graph_'))
      const told = preflight.issues.map(({ message }: Doc) => ({ path: '/body/inputs', message }))
      throw new Refusal(graph ? 'INVALID_WORKFLOW_GRAPH' : 'PREFLIGHT_FAILED', told)
    }
    const job = this.#admit(this.workflow(workflow_id), inputs ?? {}, preflight, options?.concurrent ?? false)
    const { status, queue_position, created_at } = job.snapshot
    const admitted = status === 'queued' ? { status, queue_position } : { status: 'accepted', queue_position: null }
    const answer = { job_id: job.job_id, ...admitted, duplicate: false, accepted_at: created_at, preflight }
    this.#keys.set(key, { hash, job, answer })
    const echoed = this.has('other-client-request-id') ? 'another' : request.client_request_id
    return { client_request_id: echoed, ...answer }
  }

  /** Waits until two submissions of a key have come: neither knows of the other's job then. */
  #another(key: string): Promise<void> {
    const first = this.#waiting.get(key)
    first?.resolve()
    const both = first ?? Promise.withResolvers<void>()
    this.#waiting.set(key, both)
    return both.promise
  }

  #checkEtag({ workflow_id, workflow_etag }: Doc): void {
    if (this.has('submits-nothing') && !this.workflows.has(workflow_id)) throw new Refusal('PREFLIGHT_FAILED')
    const { etag } = this.workflow(workflow_id)
    if (workflow_etag !== etag && !this.has('etag-ignored')) throw new Refusal('WORKFLOW_REVISION_CONFLICT')
  }

  #duplicate({ hash, answer }: { hash: string; answer: Doc }, other: string, { client_request_id }: Doc): Doc {
    if (hash !== other && !this.has('key-alone')) throw new Refusal('IDEMPOTENCY_CONFLICT')
    return { client_request_id, ...answer, duplicate: true }
  }

  /** A run that nobody submitted under a key. */
  run(stored: StoredWorkflow, params: Doc, job_id?: string): Job {
    const told = [...graphIssues(stored.graph), ...inputIssues(stored.graph, params)].map(({ message, pin_name }) => {
      return { path: `/body/params/${pin_name ?? ''}`, message }
    })
    if (told.length > 0 && !this.has('run-unchecked')) throw new Refusal('INVALID_PARAMETERS', told)
    return this.#admit(stored, params, null, true, job_id)
  }

  /** A value as it is kept: without what is secret. */
  redacted(value: Doc): Doc {
    let text = JSON.stringify(value)
    if (!this.has('secrets-told'))
      for (const secret of this.secrets.values()) text = text.replaceAll(secret, '[redacted]')
    return JSON.parse(text)
  }

  #admit(stored: StoredWorkflow, inputs: Doc, preflight: Doc, concurrent = true, job_id = `job-${randomUUID()}`): Job {
    const given = this.has('media-inline') ? inputs : withFiles(inputs, this.files)
    const job = new Job(job_id, stored, this.redacted(given), preflight, this.has)
    const own = [...this.jobs.values()].filter(({ workflow }) => workflow.id === stored.id)
    const queued = own.filter(({ snapshot }) => snapshot.status === 'queued')
    this.jobs.set(job.job_id, job)
    job.onLeft = () => this.#next(stored)
    const busy = own.some(({ snapshot }) => snapshot.status === 'running')
    if (!concurrent && (busy || queued.length > 0) && !this.has('never-queues')) job.queue(queued.length + 1)
    else setImmediate(() => void (job.terminal || job.start()))
    return job
  }

  #next({ id }: StoredWorkflow): void {
    const own = [...this.jobs.values()].filter(({ workflow }) => workflow.id === id)
    const waiting = own.filter(({ snapshot }) => snapshot.status === 'queued')
    const busy = own.some(({ snapshot }) => snapshot.status === 'running')
    if (!busy) void waiting.shift()?.start()
    for (const [at, job] of waiting.entries()) job.moveUp(at + 1)
  }

  cancel(id: string): Doc {
    const job = this.job(id)
    job.cancel()
    const { snapshot } = job
    const status = this.has('cancel-status-differs') ? 'cancel_requested' : snapshot.status
    return {
      job_id: id,
      status,
      cancel_requested: (snapshot.status === 'cancel_requested') !== this.has('cancel-flag-flipped'),
      snapshot,
    }
  }
}

/** What a run is said to cost, of which nothing is known. */
const COST = { amount: 5, currency: 'USD', confidence: 'unknown', unknown_cost_nodes: [], approval_required: false }

/** The request with its defaults, without what does not count. */
function hashOf({ workflow_id, workflow_etag, workspace_id, inputs, options }: Doc): string {
  const { concurrent, require_terminal_result } = options ?? {}
  const filled = [concurrent ?? false, require_terminal_result ?? true]
  return JSON.stringify([workflow_id, workflow_etag, workspace_id ?? null, inputs ?? {}, filled])
}

function* assetsIn(value: Doc, depth: number, key = ''): Generator<string> {
  if (typeof value === 'string') {
    if (key === 'asset_id') yield value
    else if (value.startsWith('asset://')) yield value.slice('asset://'.length)
  } else if (typeof value === 'object' && value !== null && depth > 0) {
    for (const [name, member] of Object.entries(value)) yield* assetsIn(member, depth - 1, name)
  }
}
