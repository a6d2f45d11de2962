// Jobs in the minimal server: one history per job, in memory; submissions by key; a queue per workflow.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Defect } from './defects.ts'
import type { Doc } from './documents.ts'
import { NODE_TYPES, ordered } from './graph.ts'
import { assetsOf } from './media.ts'
import { Refusal } from './refusal.ts'

export interface StoredWorkflow {
  id: string
  name: string
  graph: Doc
  etag: string
  /** As it is served. */
  record: Doc
  revision: number
}

const TERMINAL = ['completed', 'failed', 'cancelled']

export class Job {
  readonly job_id: string
  readonly workflow: StoredWorkflow
  readonly inputs: Doc
  readonly events: Doc[] = []
  readonly followers = new Set<() => void>()
  readonly has: (defect: Defect) => boolean
  snapshot: Doc
  /** Whether its events are no longer kept. */
  swept = false
  #resume: ((value: unknown) => void) | null = null
  readonly #abort = new AbortController()
  /** Rings when the job no longer holds up others. */
  onLeft: () => void = () => {}

  constructor(job_id: string, workflow: StoredWorkflow, inputs: Doc, preflight: Doc, has: (defect: Defect) => boolean) {
    this.job_id = job_id
    this.workflow = workflow
    this.inputs = inputs
    this.has = has
    const now = this.#now()
    this.snapshot = {
      version: 1,
      job_id,
      workflow_id: workflow.id,
      workspace_id: null,
      workflow_etag: has('etag-lost') ? null : workflow.etag,
      status: 'accepted',
      queue_position: null,
      created_at: now,
      updated_at: now,
      started_at: null,
      finished_at: null,
      last_sequence: 0,
      preflight: has('snapshot-without-preflight') ? null : preflight,
      result: null,
      error: null,
      waiting: [],
    }
    this.#status('accepted')
  }

  get terminal(): boolean {
    return TERMINAL.includes(this.snapshot.status)
  }

  queue(position: number): void {
    this.#status('queued', { queue_position: this.#place(position) })
  }

  /** Its place when others have left; that is no event. */
  moveUp(position: number): void {
    this.snapshot = { ...this.snapshot, queue_position: this.#place(position) }
  }

  #place(position: number): number | null {
    if (this.has('no-position')) return null
    return this.has('same-place') ? 1 : position
  }

  async start(): Promise<void> {
    this.#status('running', { queue_position: null, started_at: this.has('never-started') ? null : this.#now() })
    try {
      const outputs = await this.#run()
      if (this.terminal) return
      this.#end('completed', { result: this.#manifest(outputs) })
    } catch (error) {
      if (this.terminal) return
      const { message, node_id = null } = error as Error & { node_id?: string }
      this.#end('failed', { error: { message, type: 'node_error', node_id, retryable: false } })
    }
  }

  cancel(): void {
    if (this.terminal) {
      if (this.has('cancel-twice-conflict') && this.snapshot.status === 'cancelled') throw new Refusal('CONFLICT')
      if (this.has('cancel-overwrites'))
        this.snapshot = { ...this.snapshot, status: 'cancelled', result: null, error: null }
      return
    }
    if (this.has('cancel-ignored') || (this.snapshot.status === 'queued' && this.has('queued-cancel-ignored'))) return
    if (this.has('cancel-accepts-again') && this.snapshot.status === 'suspended') {
      this.snapshot = { ...this.snapshot, status: 'accepted', waiting: [] }
      setTimeout(() => this.cancel(), 20)
      return
    }
    if (this.snapshot.status !== 'queued') this.#status('cancel_requested', { waiting: [] })
    this.#abort.abort()
    this.#end('cancelled', {})
  }

  resume(value: unknown): void {
    if (!this.#resume) throw new Refusal('JOB_NOT_SUSPENDED')
    const [{ schema }] = this.snapshot.waiting.length > 0 ? this.snapshot.waiting : [{ schema: null }]
    if (schema?.type === 'string' && typeof value !== 'string') {
      throw new Refusal('INVALID_PARAMETERS', [{ path: '/body/value', message: 'must be string' }])
    }
    const resume = this.#resume
    this.#resume = null
    if (this.has('back-to-accepted')) this.#status('accepted', { waiting: [] })
    this.#status('running', { waiting: [] })
    resume(this.has('value-dropped') ? null : value)
  }

  async #run(): Promise<Doc> {
    const { graph } = this.workflow
    const values: Record<string, Doc> = {}
    const outputs: Doc = {}
    for (const node of ordered(graph) ?? []) {
      if (this.#abort.signal.aborted) return outputs
      this.#node(node, 'running')
      if (this.has('repeated-node-status')) this.#node(node, 'running')
      const given = { ...node.data }
      for (const { source, sourceHandle, target, targetHandle } of graph.edges) {
        if (target === node.id) given[targetHandle] = values[source][sourceHandle]
      }
      values[node.id] = await this.#fire(node, given)
      if (node.type === 'output.Output') this.#output(node.data.name, given.value, outputs)
      this.#node(node, 'completed')
    }
    return outputs
  }

  async #fire(node: Doc, given: Doc): Promise<Doc> {
    if (node.type === 'control.WaitFor') return { value: await this.#waited(node) }
    if (node.type === 'control.Delay') await sleep(given.seconds * 1_000, null, { signal: this.#abort.signal })
    if (node.type.startsWith('input.')) return { output: this.inputs[node.data.name] ?? node.data.value }
    if (node.type === 'text.Concat' && this.has('concat-reversed')) return { output: given.b + given.a }
    try {
      return NODE_TYPES[node.type]!.run!(given, node.data)
    } catch (error) {
      this.#node(node, 'failed')
      throw Object.assign(error as Error, { node_id: node.id })
    }
  }

  #waited({ id, data }: Doc): Promise<unknown> {
    const waiting = {
      node_id: this.has('other-waiting-node') ? 'elsewhere' : id,
      kind: 'value',
      name: data.name,
      message: null,
      schema: data.schema ?? null,
    }
    return new Promise((resolve) => {
      this.#resume = resolve
      this.#status('suspended', { waiting: this.has('waiting-empty') ? [] : [waiting] })
      this.onLeft()
    })
  }

  #output(name: string, value: unknown, outputs: Doc): void {
    outputs[name] = value
    this.#emit('output_update', { output_name: name, value: this.has('other-output') ? 'something else' : value })
  }

  #node({ id, type }: Doc, status: string): void {
    this.#emit('node_status', {
      node_id: id,
      node_type: this.has('other-node-type') ? 'conformance.Other' : type,
      status,
      ...(this.has('progress-missing') ? {} : { progress: this.has('no-progress') ? 0 : null }),
    })
  }

  #status(status: string, more: Doc = {}): void {
    this.snapshot = { ...this.snapshot, ...more, status }
    this.#emit('job_status', { status, queue_position: this.snapshot.queue_position, message: null })
  }

  #manifest(outputs: Doc): Doc | null {
    if (this.has('completed-without-result')) return null
    const { id, etag } = this.workflow
    const revision = this.has('provenance-without-revision') ? null : etag
    const provenance = {
      workflow_id: id,
      workflow_revision: revision,
      inputs: this.inputs,
      providers: [],
      models: [],
      seed: null,
    }
    const job_id = this.has('other-job-in-manifest') ? 'another' : this.job_id
    const cost = this.has('free-run-costs')
      ? { amount: 3, currency: 'USD', estimated_amount: null, reconciled: true }
      : null
    return { version: 1, job_id, completed_at: this.#now(), outputs, assets: assetsOf(outputs, this), cost, provenance }
  }

  #end(status: string, more: Doc): void {
    const finished_at = this.has('finished-before-created') ? '2000-01-01T00:00:00.000Z' : this.#now()
    const last_sequence = this.events.length + (this.has('last-sequence-behind') ? 0 : 1)
    const ended = {
      ...this.snapshot,
      waiting: [],
      queue_position: null,
      ...more,
      status,
      finished_at,
      updated_at: this.has('updated-never') ? this.snapshot.created_at : finished_at,
      last_sequence,
    }
    if (this.has('failed-without-error') && status === 'failed') ended.error = null
    this.snapshot = ended
    this.#emit('job_terminal', { status, snapshot: ended })
    if (this.has('terminal-not-last'))
      this.#emit('job_status', { status: 'running', queue_position: null, message: null })
    this.onLeft()
  }

  #emit(type: string, more: Doc): void {
    const { job_id, workflow } = this
    const gap = this.has('sequence-gap') && this.events.length > 3 ? 2 : 1
    const sequence = this.events.length + gap
    const workflow_id = this.has('other-workflow-in-event') && type === 'node_status' ? 'another' : workflow.id
    const timestamp = this.has('old-events') ? '2001-01-01T00:00:00.000Z' : this.#now()
    this.events.push({ sequence, job_id, workflow_id, workspace_id: null, timestamp, type, ...more })
    if (type !== 'job_terminal') this.#persisted(this.has('sequence-zero') ? 0 : sequence, timestamp)
    for (const ring of this.followers) ring()
  }

  #persisted(last_sequence: number, time: string): void {
    const updated_at = this.has('updated-never') ? this.snapshot.created_at : time
    this.snapshot = { ...this.snapshot, last_sequence, updated_at }
  }

  #now(): string {
    return now(this.has)
  }

  /** Waits until it has ended, or waits itself for somebody. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.terminal && this.snapshot.status !== 'suspended') return
        this.followers.delete(look)
        resolve()
      }
      this.followers.add(look)
      look()
    })
  }

  /** Tells of the events after a sequence until the end; gives what stops it. */
  follow(after: number, tell: (event: Doc, live: boolean) => void, done: () => void): () => void {
    let at = Math.max(0, after)
    let live = false
    const go = () => {
      for (; at < this.events.length; at++) tell(this.events[at], live)
      live = true
      if (this.terminal) stop()
    }
    const stop = () => {
      this.followers.delete(go)
      done()
    }
    this.followers.add(go)
    go()
    return stop
  }
}

export function now(has: (defect: Defect) => boolean): string {
  const time = new Date().toISOString()
  return has('local-times') ? time.replace('Z', '+00:00') : time
}
