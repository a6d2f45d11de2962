// WorkflowService creates, reads, lists, changes, deletes and shares workflows, and lists their versions. Runs use the part of it that
// finds compiled workflows.
import type {
  CreateWorkflowRequest,
  StoredWorkflow,
  UpdateWorkflowRequest,
  Workflow,
  WorkflowListItem,
  WorkflowShare,
} from '../../generated/types.ts'
import { saveGraph, writeGraphParts } from '../db/graphs.ts'
import { type OwnerScope, userShareKey } from '../db/owner-scope.ts'
import { startTimeBudget } from '../db/row-batches.ts'
import type { Store } from '../db/store.ts'
import type { WorkflowTable } from '../db/tables/workflows.ts'
import * as rows from '../db/workflows.ts'
import type { Graph } from '../engine/compile/graph.ts'
import { ServiceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { runToCompletion } from '../shared/time-slices.ts'
import { loadExamples } from './examples.ts'
import { readPageSteps, type WorkflowListPage, type WorkflowListRequest } from './list-pages.ts'
import { workflowNotFound, workflowNotFoundWithHint } from './not-found.ts'
import { type CompiledWorkflowGraph, isLargeGraph, type PlanCache } from './plan-cache.ts'
import { toExampleWorkflow, toWorkflowListItem, toWorkflowSteps, withoutWorkspace } from './records.ts'
import { RunnableWorkflows } from './runnable-workflows.ts'
import { type ListedVersion, readVersionPageSteps, type VersionListPage, type VersionListRequest } from './versions.ts'
import { formatSettings, MOST_SETTINGS, toEditableColumns, toVersionRow } from './workflow-rows.ts'

/** A record with the revision of its row, which HTTP sends as `ETag`. */
export interface RecordWithRevision<T> {
  record: T
  revision: number
}

/** Milliseconds for removing the versions of a deleted workflow at once. The next sweeps remove the rest. */
const REMOVAL_MS = 3

/** The revision of bundled examples, which have no row. */
const EXAMPLE_REVISION = 0

export class WorkflowService extends RunnableWorkflows {
  readonly #platform: Platform
  readonly #publicUrl: () => string

  constructor(store: Store, plans: PlanCache, platform: Platform, publicUrl: () => string) {
    super(store, plans)
    this.#platform = platform
    this.#publicUrl = publicUrl
  }

  /**
   * Lists the caller's workflows, the last changed first; all of them unless `limit` is given. One query selects the workflows, and each is
   * then read in a step of its own, or skipped if it was deleted meanwhile.
   */
  async list(scope: OwnerScope, request: WorkflowListRequest): Promise<WorkflowListPage> {
    return await this.plans.slices.begin(userShareKey(scope), readPageSteps(this.store, scope, request))
  }

  /** Lists the public workflows of all users, in time slices of the caller. */
  async listPublic(caller: string, request: WorkflowListRequest): Promise<WorkflowListPage> {
    return await this.plans.slices.begin(caller, readPageSteps(this.store, null, request))
  }

  /** Returns the ids of the caller's last changed workflows. */
  recentIds(scope: OwnerScope, limit: number): string[] {
    return this.store.read((tx) => rows.listWorkflowPositions(tx, scope, null, limit)).map(({ id }) => id)
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
    await this.store.write((tx) => {
      saveGraph(tx, compiled.sha256, compiled.body)
      rows.insertWorkflow(tx, row)
      rows.insertWorkflowVersion(tx, toVersionRow(row))
    })
    return this.#storedRecord(userShareKey(scope), row, compiled)
  }

  async #compile(scope: OwnerScope, graph: Graph): Promise<CompiledWorkflowGraph> {
    const owner = userShareKey(scope)
    const preparing = this.plans.prepare(owner, graph)
    if (preparing) await preparing
    const compiled = this.plans.compile(owner, graph)
    const keeping = writeGraphParts(this.store, compiled.sha256, compiled.body)
    if (keeping) await keeping
    return compiled
  }

  /** Returns the caller's own workflow, or a bundled example. A large workflow is compiled in time slices. */
  async get(scope: OwnerScope, id: string): Promise<RecordWithRevision<Workflow>> {
    if (loadExamples().has(id)) return this.#exampleRecord(id)
    return this.#readRecord(userShareKey(scope), this.requireOwned(scope, id))
  }

  async getPublic(caller: string, id: string): Promise<RecordWithRevision<Workflow>> {
    const row = this.store.read((tx) => rows.findPublicWorkflow(tx, id))
    return this.#readRecord(caller, row && withoutWorkspace(row))
  }

  async getShared(caller: string, token: string): Promise<RecordWithRevision<Workflow>> {
    const row = this.store.read((tx) => rows.findSharedWorkflow(tx, token))
    return this.#readRecord(caller, row && withoutWorkspace(row))
  }

  /** Returns the list item of the caller's own workflow. */
  getListItem(scope: OwnerScope, id: string): WorkflowListItem {
    return toWorkflowListItem(this.requireOwned(scope, id))
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
    const row = await this.store.write((tx) => {
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
      rows.insertWorkflowVersion(tx, toVersionRow(after))
      this.revisions.forget(scope, id)
      return after
    })
    return this.#storedRecord(userShareKey(scope), row, compiled)
  }

  /** Removes a workflow with its versions and share link. Its jobs keep the graph that they were accepted with. */
  async delete(scope: OwnerScope, id: string, expected: readonly number[] | null): Promise<void> {
    await this.store.write((tx) => {
      const row = rows.findOwnedWorkflow(tx, scope, id)
      if (!row) throw workflowNotFoundWithHint(id)
      if (expected && !expected.includes(row.revision)) throw new ServiceError('PRECONDITION_FAILED')
      rows.deleteWorkflow(tx, row, startTimeBudget(REMOVAL_MS))
      this.revisions.forget(scope, id)
    })
  }

  /** Lists a page of versions, newest first; all of them unless `limit` is given. */
  async versions(scope: OwnerScope, id: string, request: VersionListRequest): Promise<VersionListPage> {
    const row = this.requireOwned(scope, id)
    return await this.plans.slices.begin(userShareKey(scope), readVersionPageSteps(this.store, row.id, request))
  }

  /** Returns the JSON text of the graph of a version, which may be large. */
  graphTextOf({ graph_sha256 }: ListedVersion): string {
    return this.plans.textOf(graph_sha256)
  }

  /** Returns the share link. The first call creates it. */
  async share(scope: OwnerScope, id: string): Promise<WorkflowShare> {
    const token = this.#platform.secret(24)
    const created_at = this.#platform.timestamp()
    const row = await this.store.write((tx) => {
      if (!rows.findOwnedWorkflow(tx, scope, id)) throw workflowNotFoundWithHint(id)
      rows.insertWorkflowShare(tx, { token, workflow_id: id, created_at })
      return rows.findWorkflowShare(tx, id)!
    })
    const url = `${this.#publicUrl()}/api/shared-workflows/${row.token}`
    return { token: row.token, url, created_at: row.created_at }
  }

  async unshare(scope: OwnerScope, id: string): Promise<void> {
    await this.store.write((tx) => {
      if (!rows.findOwnedWorkflow(tx, scope, id)) throw workflowNotFoundWithHint(id)
      rows.deleteWorkflowShare(tx, id)
    })
  }

  async #readRecord(owner: string, row: WorkflowTable | undefined): Promise<RecordWithRevision<Workflow>> {
    if (!row) throw workflowNotFound()
    const preparing = this.plans.prepareStored(owner, row.graph_sha256)
    if (preparing) await preparing
    return this.#withRevision(owner, row, this.plans.compileStored(row.graph_sha256))
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
    const record = isLarge ? await this.plans.slices.run(owner, steps) : runToCompletion(steps)
    return { record, revision: row.revision }
  }
}
