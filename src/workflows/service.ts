// Workflows: create, read, list, change, delete, versions, share links, and what a run needs of one.
// Whatever belongs to another owner is the same WORKFLOW_NOT_FOUND as what does not exist.

import type {
  CreateWorkflowRequest,
  StoredWorkflow,
  UpdateWorkflowRequest,
  Workflow,
  WorkflowInterface,
  WorkflowListItem,
  WorkflowShare,
} from '../../generated/types.ts'
import { decodeNumber, encodeNumber } from '../cursor.ts'
import { within } from '../db/batches.ts'
import { keepGraph, keepParts } from '../db/graphs.ts'
import type { WorkflowTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import * as rows from '../db/workflows.ts'
import type { Graph } from '../engine/graph.ts'
import { ServiceError } from '../errors.ts'
import { jsonTextWithin } from '../json-steps.ts'
import type { Platform } from '../platform.ts'
import { finish } from '../time-slices.ts'
import { type Example, examples } from './examples.ts'
import { Heads } from './heads.ts'
import { interfaceSteps } from './interface.ts'
import { meantExample } from './meant-tool.ts'
import { type ListRequest, pageSteps, type WorkflowPage } from './pages.ts'
import { type CompiledGraph, isLargeGraph, type Plans } from './plans.ts'
import { exampleWorkflow, recordSteps, workflowListItem } from './records.ts'
import { toolGraph } from './tool-graph.ts'
import { type ListedVersion, versionSteps } from './versions.ts'

/** A record with the revision of its row, which HTTP shows as `ETag`. */
export interface Revised<T> {
  record: T
  revision: number
}

/** What a run needs of a workflow. */
export interface RunnableWorkflow {
  workflow_id: string
  /** Null for a bundled example, which has no row. */
  revision: number | null
  compiled: CompiledGraph
}

export interface VersionsRequest {
  limit?: number | null | undefined
  cursor?: string | null | undefined
}

/** Bytes of JSON text, as the contract has it. */
const MOST_SETTINGS = 262_144
/** How long the versions of a deleted workflow are removed at once, in milliseconds; what is left goes with the next sweeps. */
const REMOVAL_MS = 3

/** Of bundled examples, which have no row. */
const EXAMPLE_REVISION = 0

/** Of the caller's own ids none is proposed: nobody types those. */
function notFound(id: string): ServiceError {
  if (examples().has(id))
    return none(`"${id}" is a bundled example: it has no versions, and only a copy of it can be changed.`)
  const meant = meantExample(id)
  return none(meant === '' ? undefined : `There is no workflow "${id}".${meant}`)
}

function none(message?: string): ServiceError {
  return new ServiceError('WORKFLOW_NOT_FOUND', { message })
}

export class WorkflowService {
  readonly #store: Store
  readonly #plans: Plans
  readonly #platform: Platform
  readonly #publicUrl: () => string
  readonly #heads = new Heads()
  /** Compiled examples by id: they are a fixed few, and hashing one for every run costs more than running it. */
  readonly #examples = new Map<string, CompiledGraph>()

  constructor(store: Store, plans: Plans, platform: Platform, publicUrl: () => string) {
    this.#store = store
    this.#plans = plans
    this.#platform = platform
    this.#publicUrl = publicUrl
  }

  /**
   * The caller's workflows, the last changed first; all of them unless `limit` is given. Which ones is decided at once; each is shown as it is when its
   * turn comes, and left out where it is gone by then.
   */
  async list(scope: Scope, request: ListRequest): Promise<WorkflowPage> {
    return await this.#plans.slices.begin(userKey(scope), pageSteps(this.#store, scope, request))
  }

  /** The public workflows of all users, read in time slices of the caller. */
  async listPublic(caller: string, request: ListRequest): Promise<WorkflowPage> {
    return await this.#plans.slices.begin(caller, pageSteps(this.#store, null, request))
  }

  /** The ids of the caller's workflows that changed last. */
  recentIds(scope: Scope, limit: number): string[] {
    return this.#store.read((tx) => rows.workflowPlaces(tx, scope, null, limit)).map(({ id }) => id)
  }

  async create(scope: Scope, request: CreateWorkflowRequest): Promise<Revised<StoredWorkflow>> {
    const settings = settingsText(request)
    const compiled = await this.#compiled(scope, request.graph as Graph)
    const now = this.#platform.timestamp()
    const row: WorkflowTable = {
      id: this.#platform.id('wf'),
      user_id: scope.user_id,
      workspace_id: scope.workspace_id,
      ...editable(request, settings, compiled),
      revision: 1,
      created_at: now,
      updated_at: now,
    }
    await this.#store.write((tx) => {
      keepGraph(tx, compiled.sha256, compiled.body)
      rows.insertWorkflow(tx, row)
      insertVersion(tx, row)
    })
    return this.#stored(userKey(scope), row, compiled)
  }

  async #compiled(scope: Scope, graph: Graph): Promise<CompiledGraph> {
    const preparing = this.#plans.prepare(userKey(scope), graph)
    if (preparing) await preparing
    const compiled = this.#plans.compile(graph)
    const keeping = keepParts(this.#store, compiled.sha256, compiled.body)
    if (keeping) await keeping
    return compiled
  }

  /**
   * Prepares the caller's own workflow for a new run: compiles it in time slices if it is large, and reads its slow expressions, so that the next call
   * finds it with all of its issues. Null if there is nothing to wait for, or no such workflow. `deadline`: the time limit for slow expressions, if several
   * workflows share one.
   */
  prepare(scope: Scope, id: string, deadline?: AbortSignal): Promise<unknown> | null {
    const hash = this.#graphOf(scope, id)
    return hash === null ? null : this.#plans.prepareRun(userKey(scope), hash, deadline)
  }

  /** The hash of the graph of the caller's own workflow; null for a bundled example, and if there is no such workflow. */
  #graphOf(scope: Scope, id: string): string | null {
    if (examples().has(id)) return null
    const head = this.#heads.get(scope, id) ?? this.#store.read((tx) => rows.ownedWorkflow(tx, scope, id))
    return head?.graph_sha256 ?? null
  }

  /** Counts the memory of a large graph for as long as a request works on it, until that is disposed of. */
  hold(compiled: CompiledGraph): Disposable | null {
    return this.#plans.hold(compiled)
  }

  /** The caller's own workflow, or a bundled example. A large one is compiled in time slices. */
  async get(scope: Scope, id: string): Promise<Revised<Workflow>> {
    if (examples().has(id)) return this.#bundled(id)
    return this.#record(userKey(scope), this.#owned(scope, id))
  }

  async getPublic(caller: string, id: string): Promise<Revised<Workflow>> {
    return this.#record(
      caller,
      this.#store.read((tx) => rows.publicWorkflow(tx, id)),
    )
  }

  async getShared(caller: string, token: string): Promise<Revised<Workflow>> {
    return this.#record(
      caller,
      this.#store.read((tx) => rows.sharedWorkflow(tx, token)),
    )
  }

  /** What a list says of the caller's own workflow. */
  listed(scope: Scope, id: string): WorkflowListItem {
    return workflowListItem(this.#owned(scope, id))
  }

  /**
   * Replaces everything that can be edited.
   * @param expected the revisions of which the row must have one, or null for any
   * @throws PRECONDITION_FAILED when the row has another revision
   */
  async update(
    scope: Scope,
    id: string,
    request: UpdateWorkflowRequest,
    expected: readonly number[] | null,
  ): Promise<Revised<StoredWorkflow>> {
    const settings = settingsText(request)
    const compiled = await this.#compiled(scope, request.graph as Graph)
    const now = this.#platform.timestamp()
    const row = await this.#store.write((tx) => {
      const before = rows.ownedWorkflow(tx, scope, id)
      if (!before) throw notFound(id)
      if (expected && !expected.includes(before.revision)) throw new ServiceError('PRECONDITION_FAILED')
      const after = {
        ...before,
        ...editable(request, settings, compiled),
        revision: before.revision + 1,
        updated_at: now,
      }
      keepGraph(tx, compiled.sha256, compiled.body)
      if (!rows.updateWorkflow(tx, after, before.revision)) throw new ServiceError('PRECONDITION_FAILED')
      insertVersion(tx, after)
      this.#heads.forget(scope, id)
      return after
    })
    return this.#stored(userKey(scope), row, compiled)
  }

  /** Removes a workflow with its versions and share link. Its jobs keep the graph that they were accepted with. */
  async delete(scope: Scope, id: string, expected: readonly number[] | null): Promise<void> {
    await this.#store.write((tx) => {
      const row = rows.ownedWorkflow(tx, scope, id)
      if (!row) throw notFound(id)
      if (expected && !expected.includes(row.revision)) throw new ServiceError('PRECONDITION_FAILED')
      rows.deleteWorkflow(tx, row, within(REMOVAL_MS))
      this.#heads.forget(scope, id)
    })
  }

  /** A page of versions, newest first; all of them unless `limit` is given. */
  async versions(
    scope: Scope,
    id: string,
    { limit, cursor }: VersionsRequest,
  ): Promise<{ versions: ListedVersion[]; next: string | null }> {
    const row = this.#owned(scope, id)
    const before = decodeNumber(cursor) ?? Number.MAX_SAFE_INTEGER
    const steps = versionSteps(this.#store, row.id, before, limit ? limit + 1 : Number.POSITIVE_INFINITY)
    const found = await this.#plans.slices.begin(userKey(scope), steps)
    const versions = limit ? found.slice(0, limit) : found
    return { versions, next: found.length > versions.length ? encodeNumber(versions.at(-1)!.version.version) : null }
  }

  /** The JSON text of the graph of a version, which may be large. */
  graphTextOf({ graph_sha256 }: ListedVersion): string {
    return this.#plans.textOf(graph_sha256)
  }

  /**
   * What a workflow takes and gives. A large one is compiled, and this derived, in time slices.
   * @throws WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH where two inputs or outputs share a name
   */
  async interface(scope: Scope, id: string): Promise<WorkflowInterface> {
    await this.prepare(scope, id)
    return (await this.sizedInterface(scope, id)).record
  }

  /**
   * The same without reading slow expressions, and with the length of the graph's JSON text, of which most may be in it: defaults are.
   */
  async sizedInterface(scope: Scope, id: string): Promise<{ record: WorkflowInterface; graph_length: number }> {
    const hash = this.#graphOf(scope, id)
    const preparing = hash === null ? null : this.#plans.prepareStored(userKey(scope), hash)
    if (preparing) await preparing
    const { compiled } = this.runnable(scope, id)
    using _ = this.hold(compiled)
    const steps = interfaceSteps(id, compiled)
    const record = isLargeGraph(compiled) ? await this.#plans.slices.run(userKey(scope), steps) : finish(steps)
    return { record, graph_length: compiled.body.length }
  }

  /** The share link: made at the first call, and the same at later ones. */
  async share(scope: Scope, id: string): Promise<WorkflowShare> {
    const token = this.#platform.secret(24)
    const created_at = this.#platform.timestamp()
    const row = await this.#store.write((tx) => {
      if (!rows.ownedWorkflow(tx, scope, id)) throw notFound(id)
      rows.insertWorkflowShare(tx, { token, workflow_id: id, created_at })
      return rows.workflowShare(tx, id)!
    })
    const url = `${this.#publicUrl()}/api/shared-workflows/${row.token}`
    return { token: row.token, url, created_at: row.created_at }
  }

  async unshare(scope: Scope, id: string): Promise<void> {
    await this.#store.write((tx) => {
      if (!rows.ownedWorkflow(tx, scope, id)) throw notFound(id)
      rows.deleteWorkflowShare(tx, id)
    })
  }

  /** The caller's own workflow or a bundled example, compiled. No row has the id of an example. */
  runnable(scope: Scope, id: string): RunnableWorkflow {
    if (examples().has(id)) return { workflow_id: id, revision: null, compiled: this.example(id).compiled }
    const { revision, graph_sha256 } = this.#heads.get(scope, id) ?? this.#heads.keep(this.#owned(scope, id))
    return { workflow_id: id, revision, compiled: this.#plans.stored(graph_sha256) }
  }

  /** What a call from inside of a run means: a workflow as `runnable` has it, or a node type that is called as one. */
  callable(scope: Scope, id: string): CompiledGraph {
    const tool = toolGraph(id)
    return tool ? this.#plans.compile(tool) : this.runnable(scope, id).compiled
  }

  /** How the caller's own workflow or a bundled example is called. */
  titleOf(scope: Scope, id: string): Pick<Workflow, 'name' | 'description'> {
    const { name, description } = examples().get(id) ?? this.#owned(scope, id)
    return { name, description: description ?? '' }
  }

  /** The bundled examples, by id. */
  examples(): Example[] {
    return [...examples().values()]
  }

  example(id: string): { example: Example; compiled: CompiledGraph } {
    const example = examples().get(id)
    if (!example) throw notFound(id)
    const compiled = this.#examples.get(id) ?? this.#plans.compile(example.graph)
    this.#examples.set(id, compiled)
    return { example, compiled }
  }

  #owned(scope: Scope, id: string): WorkflowTable {
    const row = this.#store.read((tx) => rows.ownedWorkflow(tx, scope, id))
    if (!row) throw notFound(id)
    return row
  }

  async #record(owner: string, row: WorkflowTable | undefined): Promise<Revised<Workflow>> {
    if (!row) throw none()
    const preparing = this.#plans.prepareStored(owner, row.graph_sha256)
    if (preparing) await preparing
    return this.#revised(owner, row, this.#plans.stored(row.graph_sha256))
  }

  #bundled(id: string): Revised<Workflow> {
    const { example, compiled } = this.example(id)
    return { record: exampleWorkflow(example, compiled), revision: EXAMPLE_REVISION }
  }

  async #stored(owner: string, row: WorkflowTable, compiled: CompiledGraph): Promise<Revised<StoredWorkflow>> {
    const { record, revision } = await this.#revised(owner, row, compiled)
    return { record: { ...record, issues: compiled.issues }, revision }
  }

  async #revised(owner: string, row: WorkflowTable, compiled: CompiledGraph): Promise<Revised<Workflow>> {
    using _ = this.hold(compiled)
    const steps = recordSteps(row, compiled)
    const isLarge = isLargeGraph(compiled) || row.settings.length > MOST_SETTINGS
    const record = isLarge ? await this.#plans.slices.run(owner, steps) : finish(steps)
    return { record, revision: row.revision }
  }
}

/** @throws INVALID_REQUEST where they are too long */
function settingsText({ settings }: CreateWorkflowRequest | UpdateWorkflowRequest): string {
  const text = jsonTextWithin(settings ?? {}, MOST_SETTINGS)
  if (text !== null) return text
  const problem = { path: '/body/settings', message: `must have at most ${MOST_SETTINGS} bytes as JSON` }
  throw new ServiceError('INVALID_REQUEST', { problems: [problem], message: `${problem.path}: ${problem.message}` })
}

function editable(request: CreateWorkflowRequest | UpdateWorkflowRequest, settings: string, compiled: CompiledGraph) {
  return {
    name: request.name,
    description: request.description ?? '',
    tags: JSON.stringify(request.tags ?? []),
    access: request.access ?? 'private',
    graph_sha256: compiled.sha256,
    settings,
    run_mode: request.run_mode ?? 'workflow',
    etag: compiled.etag,
  }
}

function insertVersion(tx: Tx, row: WorkflowTable): void {
  rows.insertWorkflowVersion(tx, {
    workflow_id: row.id,
    revision: row.revision,
    name: row.name,
    description: row.description,
    graph_sha256: row.graph_sha256,
    etag: row.etag,
    created_at: row.updated_at,
  })
}
