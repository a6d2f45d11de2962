// Finds the jobs of an owner, in this process or stored.
import { listActiveJobKeys } from '../db/jobs/list-queries.ts'
import { findJobByKey, findJobForList, findOwnedJob } from '../db/jobs/rows.ts'
import { hasTombstone } from '../db/jobs/tombstones.ts'
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import { ServiceError } from '../errors.ts'
import { isLargeText } from '../events/lazy-event.ts'
import { type Steps, yieldToEventLoop } from '../shared/time-slices.ts'
import type { ActiveJob } from './active-job.ts'
import type { ActiveJobRegistry, JobHandle } from './active-job-registry.ts'
import type { JobRecovery } from './recovery/job-recovery.ts'
import { isTerminal } from './state-machine.ts'
import { createOutcomeUnknownError } from './submission/outcome-unknown-error.ts'

/** The fields of a job in a list. */
export type ListedJob = Pick<
  JobTable,
  'key' | 'id' | 'workflow_id' | 'status' | 'last_sequence' | 'created_at' | 'started_at'
>

export class JobLookup {
  readonly #registry: ActiveJobRegistry
  readonly #recovery: JobRecovery
  readonly #store: Store
  readonly #draining: AbortSignal

  /** `draining` aborts when jobs are not continued any more. */
  constructor(registry: ActiveJobRegistry, recovery: JobRecovery, draining: AbortSignal) {
    this.#registry = registry
    this.#recovery = recovery
    this.#store = registry.context.store
    this.#draining = draining
  }

  #read(scope: OwnerScope, job_id: string): JobTable | undefined {
    return this.#store.read((tx) => findOwnedJob(tx, scope, job_id))
  }

  /** The job as it is now, which may not be stored yet; null where there is none. */
  find(scope: OwnerScope, job_id: string): JobHandle | null {
    const active = this.#registry.findById(scope, job_id)
    if (active) return { row: active.row, active }
    const row = this.#read(scope, job_id)
    return row ? { row, active: null } : null
  }

  /** The job as it is stored. @throws JOB_NOT_FOUND, JOB_EXPIRED */
  async get(scope: OwnerScope, job_id: string): Promise<JobHandle> {
    const young = this.#registry.findById(scope, job_id)
    // A job is not shown before it is stored.
    if (young) await young.accepted()
    const row = this.#read(scope, job_id)
    if (!row) throw this.#createMissingError(scope, job_id)
    // Reading a large result takes long, so the caller continues in a turn of its own.
    if (isLargeText(row.result)) await yieldToEventLoop()
    const active = this.#registry.findById(scope, job_id)
    if (active || isTerminal(row.status) || row.status === 'paused' || this.#draining.aborted) return { row, active }
    // No process runs the job, since its history could not be written: this request continues it.
    // Where the job cannot continue now, it is shown as it is stored.
    await this.#recovery.tryContinueJob(row.key)
    const now = this.#store.read((tx) => findJobByKey(tx, row.key)) ?? row
    return { row: now, active: this.#registry.findById(scope, job_id) }
  }

  #createMissingError(scope: OwnerScope, job_id: string): ServiceError {
    const expired = this.#store.read((tx) => hasTombstone(tx, scope, job_id))
    return expired ? new ServiceError('JOB_EXPIRED') : new ServiceError('JOB_NOT_FOUND')
  }

  /**
   * The unfinished jobs, the oldest first. The keys are read at once, then each row in a step of its own. Jobs that have ended by then are left out. Long
   * columns are not kept.
   */
  *listActive(scope: OwnerScope): Steps<ListedJob[]> {
    const listed: ListedJob[] = []
    for (const of of this.#store.read((tx) => listActiveJobKeys(tx, scope))) {
      const row = this.#store.read((tx) => findJobForList(tx, of))
      if (row && !isTerminal(row.status)) {
        const { key, id, workflow_id, status, last_sequence, created_at, started_at } = row
        listed.push({ key, id, workflow_id, status, last_sequence, created_at, started_at })
      }
      yield
    }
    return listed
  }

  /** Whether the job waits until its history can be written. @throws SERVICE_UNAVAILABLE */
  awaitsRecovery(scope: OwnerScope, job_id: string): boolean {
    if (this.#registry.findById(scope, job_id)) return false
    const row = this.#read(scope, job_id)
    return row !== undefined && row.status !== 'paused' && !isTerminal(row.status)
  }

  /** Whether the job is stored. @throws SERVICE_UNAVAILABLE where the database cannot be read */
  isStored(scope: OwnerScope, job_id: string): boolean {
    return this.#read(scope, job_id) !== undefined
  }

  /** Reads a job after a command was stored. A later failure of the job does not undo the command, so the outcome is then unknown. */
  readAfterCommit({ row: { key, id } }: ActiveJob): JobHandle {
    try {
      const row = this.#store.read((tx) => findJobByKey(tx, key))
      if (row) return this.#registry.handleOf(row)
    } catch (error) {
      throw createOutcomeUnknownError(id, error)
    }
    throw new ServiceError('JOB_NOT_FOUND')
  }
}
