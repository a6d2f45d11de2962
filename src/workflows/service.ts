// WorkflowService creates, reads, lists, changes, deletes and shares workflows, lists their versions, and prepares them for runs. A
// workflow of another owner is WORKFLOW_NOT_FOUND, like one that does not exist.

import type {
  CreateWorkflowRequest,
  StoredWorkflow,
  UpdateWorkflowRequest,
  Workflow,
  WorkflowInterface,
  WorkflowListItem,
  WorkflowShare,
} from '../../generated/types.ts'
import { saveGraph, writeGraphParts } from '../db/graphs.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { WorkflowTable } from '../db/schema.ts'
import type { Store, Tx } from '../db/store.ts'
import * as rows from '../db/workflows.ts'
import type { Graph } from '../engine/compile/graph.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { stringifyUpTo } from '../shared/incremental-json.ts'
import { decodeNumberCursor, encodeNumberCursor } from '../shared/pagination-cursor.ts'
import { runToCompletion } from '../shared/time-slices.ts'
import { didYouMeanExample } from './did-you-mean.ts'
import { type BundledExample, loadExamples } from './examples.ts'
import { deriveInterfaceSteps } from './interface.ts'
import { readPageSteps, type WorkflowListPage, type WorkflowListRequest } from './list-pages.ts'
import { type CompiledWorkflowGraph, isLargeGraph, type PlanCache } from './plan-cache.ts'
import { toExampleWorkflow, toWorkflowListItem, toWorkflowSteps } from './records.ts'
import { WorkflowRevisionCache } from './revision-cache.ts'
import { parseNodeCallGraph } from './tools/node-call-graph.ts'
import { type ListedVersion, readVersionsSteps } from './versions.ts'

/** A record with the revision of its row, which HTTP sends as `ETag`. */
export interface RecordWithRevision<T> {
  record: T
  revision: number
}

/** What a run needs of a workflow. */
export interface RunnableWorkflow {
  workflow_id: string
  /** Null for a bundled example, which has no row. */
  revision: number | null
  compiled: CompiledWorkflowGraph
}

export interface VersionListRequest {
  limit?: number | null | undefined
  cursor?: string | null | undefined
}

/** Bytes of JSON text, as the contract defines. */
const MOST_SETTINGS = 262_144
/** Milliseconds for removing the versions of a deleted workflow at once. The next sweeps remove the rest. */
const REMOVAL_MS = 3

/** The revision of bundled examples, which have no row. */
const EXAMPLE_REVISION = 0

/** Builds WORKFLOW_NOT_FOUND, with a similar example as hint. Ids of own workflows are not proposed, because people do not type them. */
function workflowNotFoundWithHint(id: string): ServiceError {
  if (loadExamples().has(id))
    return workflowNotFound(`"${id}" is a bundled example: it has no versions, and only a copy of it can be changed.`)
  const meant = didYouMeanExample(id)
  return workflowNotFound(meant === '' ? undefined : `There is no workflow "${id}".${meant}`)
}

function workflowNotFound(message?: string): ServiceError {
  return new ServiceError('WORKFLOW_NOT_FOUND', { message })
}

export class WorkflowService {
  readonly #store: Store
  readonly #plans: PlanCache
  readonly #platform: Platform
  readonly #publicUrl: () => string
  readonly #revisions = new WorkflowRevisionCache()
  /** Compiled examples by id. They are few, and hashing one for every run costs more than running it. */
  readonly #examples = new Map<string, CompiledWorkflowGraph>()

  constructor(store: Store, plans: PlanCache, platform: Platform, publicUrl: () => string) {
    this.#store = store
    this.#plans = plans
    this.#platform = platform
    this.#publicUrl = publicUrl
  }

  /**
   * Lists the caller's workflows, the last changed first; all of them unless `limit` is given. One query selects the workflows, and each is
   * then read in a step of its own, or skipped if it was deleted meanwhile.
   */
  async list(scope: OwnerScope, request: WorkflowListRequest): Promise<WorkflowListPage> {
    return await this.#plans.slices.begin(userShareKey(scope), readPageSteps(this.#store, scope, request))
  }

  /** Lists the public workflows of all users, in time slices of the caller. */
  async listPublic(caller: string, request: WorkflowListRequest): Promise<WorkflowListPage> {
    return await this.#plans.slices.begin(caller, readPageSteps(this.#store, null, request))
  }

  /** Returns the ids of the caller's last changed workflows. */
  recentIds(scope: OwnerScope, limit: number): string[] {
    return this.#store.read((tx) => rows.listWorkflowPositions(tx, scope, null, limit)).map(({ id }) => id)
  }

  async create(scope: OwnerScope, request: CreateWorkflowRequest): Promise<RecordWithRevision<StoredWorkflow>> {
    const settings = formatSettings(request)
    const compiled = await this.#compile(scope, request.graph as Graph)
    const now = this.#platform.timestamp()
    const row: WorkflowTable = {
      id: this.#platform.id('wf'),
      user_id: scope.user_id,
      workspace_id: scope.workspace_id,
      ...toEditableColumns(request, settings, compiled),
      revision: 1,
      created_at: now,
      updated_at: now,
    }
    await this.#store.write((tx) => {
      saveGraph(tx, compiled.sha256, compiled.body)
      rows.insertWorkflow(tx, row)
      insertVersion(tx, row)
    })
    return this.#storedRecord(userShareKey(scope), row, compiled)
  }

  async #compile(scope: OwnerScope, graph: Graph): Promise<CompiledWorkflowGraph> {
    const preparing = this.#plans.prepare(userShareKey(scope), graph)
    if (preparing) await preparing
    const compiled = this.#plans.compile(graph)
    const keeping = writeGraphParts(this.#store, compiled.sha256, compiled.body)
    if (keeping) await keeping
    return compiled
  }

  /**
   * Prepares the caller's own workflow for a new run, so that the next call returns all issues. It compiles a large graph in time slices
   * and parses slow expressions. Returns null if there is nothing to wait for, or no such workflow. `deadline`: the time limit for slow
   * expressions, if several workflows share one.
   */
  prepare(scope: OwnerScope, id: string, deadline?: AbortSignal): Promise<unknown> | null {
    const hash = this.#graphHashOf(scope, id)
    return hash === null ? null : this.#plans.prepareRun(userShareKey(scope), hash, deadline)
  }

  /** Returns the hash of the graph of the caller's own workflow; null for a bundled example, and if there is no such workflow. */
  #graphHashOf(scope: OwnerScope, id: string): string | null {
    if (loadExamples().has(id)) return null
    const head = this.#revisions.get(scope, id) ?? this.#store.read((tx) => rows.findOwnedWorkflow(tx, scope, id))
    return head?.graph_sha256 ?? null
  }

  /** Counts the memory of a large graph for as long as a request uses it, until the result is disposed of. */
  hold(compiled: CompiledWorkflowGraph): Disposable | null {
    return this.#plans.hold(compiled)
  }

  /** Returns the caller's own workflow, or a bundled example. A large workflow is compiled in time slices. */
  async get(scope: OwnerScope, id: string): Promise<RecordWithRevision<Workflow>> {
    if (loadExamples().has(id)) return this.#exampleRecord(id)
    return this.#readRecord(userShareKey(scope), this.#requireOwned(scope, id))
  }

  async getPublic(caller: string, id: string): Promise<RecordWithRevision<Workflow>> {
    return this.#readRecord(
      caller,
      this.#store.read((tx) => rows.findPublicWorkflow(tx, id)),
    )
  }

  async getShared(caller: string, token: string): Promise<RecordWithRevision<Workflow>> {
    return this.#readRecord(
      caller,
      this.#store.read((tx) => rows.findSharedWorkflow(tx, token)),
    )
  }

  /** Returns the list item of the caller's own workflow. */
  getListItem(scope: OwnerScope, id: string): WorkflowListItem {
    return toWorkflowListItem(this.#requireOwned(scope, id))
  }

  /**
   * Replaces all editable members.
   * @param expected the revisions of which the row must have one, or null for any
   * @throws PRECONDITION_FAILED when the row has another revision
   */
  async update(
    scope: OwnerScope,
    id: string,
    request: UpdateWorkflowRequest,
    expected: readonly number[] | null,
  ): Promise<RecordWithRevision<StoredWorkflow>> {
    const settings = formatSettings(request)
    const compiled = await this.#compile(scope, request.graph as Graph)
    const now = this.#platform.timestamp()
    const row = await this.#store.write((tx) => {
      const before = rows.findOwnedWorkflow(tx, scope, id)
      if (!before) throw workflowNotFoundWithHint(id)
      if (expected && !expected.includes(before.revision)) throw new ServiceError('PRECONDITION_FAILED')
      const after = {
        ...before,
        ...toEditableColumns(request, settings, compiled),
        revision: before.revision + 1,
        updated_at: now,
      }
      saveGraph(tx, compiled.sha256, compiled.body)
      if (!rows.updateWorkflow(tx, after, before.revision)) throw new ServiceError('PRECONDITION_FAILED')
      insertVersion(tx, after)
      this.#revisions.forget(scope, id)
      return after
    })
    return this.#storedRecord(userShareKey(scope), row, compiled)
  }

  /** Removes a workflow with its versions and share link. Its jobs keep the graph that they were accepted with. */
  async delete(scope: OwnerScope, id: string, expected: readonly number[] | null): Promise<void> {
    await this.#store.write((tx) => {
      const row = rows.findOwnedWorkflow(tx, scope, id)
      if (!row) throw workflowNotFoundWithHint(id)
      if (expected && !expected.includes(row.revision)) throw new ServiceError('PRECONDITION_FAILED')
      rows.deleteWorkflow(tx, row, startTimeBudget(REMOVAL_MS))
      this.#revisions.forget(scope, id)
    })
  }

  /** Lists a page of versions, newest first; all of them unless `limit` is given. */
  async versions(
    scope: OwnerScope,
    id: string,
    { limit, cursor }: VersionListRequest,
  ): Promise<{ versions: ListedVersion[]; next: string | null }> {
    const row = this.#requireOwned(scope, id)
    const before = decodeNumberCursor(cursor) ?? Number.MAX_SAFE_INTEGER
    const steps = readVersionsSteps(this.#store, row.id, before, limit ? limit + 1 : Number.POSITIVE_INFINITY)
    const found = await this.#plans.slices.begin(userShareKey(scope), steps)
    const versions = limit ? found.slice(0, limit) : found
    return {
      versions,
      next: found.length > versions.length ? encodeNumberCursor(versions.at(-1)!.version.version) : null,
    }
  }

  /** Returns the JSON text of the graph of a version, which may be large. */
  graphTextOf({ graph_sha256 }: ListedVersion): string {
    return this.#plans.textOf(graph_sha256)
  }

  /**
   * Returns the inputs and outputs of a workflow. For a large one, they are derived in time slices.
   * @throws WORKFLOW_NOT_FOUND, INVALID_WORKFLOW_GRAPH if two inputs or outputs share a name
   */
  async interface(scope: OwnerScope, id: string): Promise<WorkflowInterface> {
    await this.prepare(scope, id)
    return (await this.sizedInterface(scope, id)).record
  }

  /**
   * Returns the same without parsing slow expressions, and the length of the graph's JSON text. The interface may be about as long, because
   * it includes defaults.
   */
  async sizedInterface(scope: OwnerScope, id: string): Promise<{ record: WorkflowInterface; graph_length: number }> {
    const hash = this.#graphHashOf(scope, id)
    const preparing = hash === null ? null : this.#plans.prepareStored(userShareKey(scope), hash)
    if (preparing) await preparing
    const { compiled } = this.runnable(scope, id)
    using _ = this.hold(compiled)
    const steps = deriveInterfaceSteps(id, compiled)
    const record = isLargeGraph(compiled)
      ? await this.#plans.slices.run(userShareKey(scope), steps)
      : runToCompletion(steps)
    return { record, graph_length: compiled.body.length }
  }

  /** Returns the share link. The first call creates it. */
  async share(scope: OwnerScope, id: string): Promise<WorkflowShare> {
    const token = this.#platform.secret(24)
    const created_at = this.#platform.timestamp()
    const row = await this.#store.write((tx) => {
      if (!rows.findOwnedWorkflow(tx, scope, id)) throw workflowNotFoundWithHint(id)
      rows.insertWorkflowShare(tx, { token, workflow_id: id, created_at })
      return rows.findWorkflowShare(tx, id)!
    })
    const url = `${this.#publicUrl()}/api/shared-workflows/${row.token}`
    return { token: row.token, url, created_at: row.created_at }
  }

  async unshare(scope: OwnerScope, id: string): Promise<void> {
    await this.#store.write((tx) => {
      if (!rows.findOwnedWorkflow(tx, scope, id)) throw workflowNotFoundWithHint(id)
      rows.deleteWorkflowShare(tx, id)
    })
  }

  /** Returns the caller's own workflow or a bundled example, compiled. No row has the id of an example. */
  runnable(scope: OwnerScope, id: string): RunnableWorkflow {
    if (loadExamples().has(id)) return { workflow_id: id, revision: null, compiled: this.example(id).compiled }
    const { revision, graph_sha256 } =
      this.#revisions.get(scope, id) ?? this.#revisions.put(this.#requireOwned(scope, id))
    return { workflow_id: id, revision, compiled: this.#plans.compileStored(graph_sha256) }
  }

  /** Returns the graph for a call from a run: that of a workflow as `runnable` finds it, or that of a node type called as a workflow. */
  callable(scope: OwnerScope, id: string): CompiledWorkflowGraph {
    const tool = parseNodeCallGraph(id)
    return tool ? this.#plans.compile(tool) : this.runnable(scope, id).compiled
  }

  /** Returns the name and description of the caller's own workflow or a bundled example. */
  titleOf(scope: OwnerScope, id: string): Pick<Workflow, 'name' | 'description'> {
    const { name, description } = loadExamples().get(id) ?? this.#requireOwned(scope, id)
    return { name, description: description ?? '' }
  }

  /** Returns the bundled examples, ordered by id. */
  examples(): BundledExample[] {
    return [...loadExamples().values()]
  }

  example(id: string): { example: BundledExample; compiled: CompiledWorkflowGraph } {
    const example = loadExamples().get(id)
    if (!example) throw workflowNotFoundWithHint(id)
    const compiled = this.#examples.get(id) ?? this.#plans.compile(example.graph)
    this.#examples.set(id, compiled)
    return { example, compiled }
  }

  #requireOwned(scope: OwnerScope, id: string): WorkflowTable {
    const row = this.#store.read((tx) => rows.findOwnedWorkflow(tx, scope, id))
    if (!row) throw workflowNotFoundWithHint(id)
    return row
  }

  async #readRecord(owner: string, row: WorkflowTable | undefined): Promise<RecordWithRevision<Workflow>> {
    if (!row) throw workflowNotFound()
    const preparing = this.#plans.prepareStored(owner, row.graph_sha256)
    if (preparing) await preparing
    return this.#withRevision(owner, row, this.#plans.compileStored(row.graph_sha256))
  }

  #exampleRecord(id: string): RecordWithRevision<Workflow> {
    const { example, compiled } = this.example(id)
    return { record: toExampleWorkflow(example, compiled), revision: EXAMPLE_REVISION }
  }

  async #storedRecord(
    owner: string,
    row: WorkflowTable,
    compiled: CompiledWorkflowGraph,
  ): Promise<RecordWithRevision<StoredWorkflow>> {
    const { record, revision } = await this.#withRevision(owner, row, compiled)
    return { record: { ...record, issues: compiled.issues }, revision }
  }

  async #withRevision(
    owner: string,
    row: WorkflowTable,
    compiled: CompiledWorkflowGraph,
  ): Promise<RecordWithRevision<Workflow>> {
    using _ = this.hold(compiled)
    const steps = toWorkflowSteps(row, compiled)
    const isLarge = isLargeGraph(compiled) || row.settings.length > MOST_SETTINGS
    const record = isLarge ? await this.#plans.slices.run(owner, steps) : runToCompletion(steps)
    return { record, revision: row.revision }
  }
}

/** @throws INVALID_REQUEST if the settings are too long */
function formatSettings({ settings }: CreateWorkflowRequest | UpdateWorkflowRequest): string {
  const text = stringifyUpTo(settings ?? {}, MOST_SETTINGS)
  if (text !== null) return text
  const problem = { path: '/body/settings', message: `must have at most ${MOST_SETTINGS} bytes as JSON` }
  throw new ServiceError('INVALID_REQUEST', { problems: [problem], message: `${problem.path}: ${problem.message}` })
}

function toEditableColumns(
  request: CreateWorkflowRequest | UpdateWorkflowRequest,
  settings: string,
  compiled: CompiledWorkflowGraph,
) {
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
