// Finds the job of a repeated submission: by its job id, or by its idempotency key, which is stored with the job and kept for a day.
import { findIdempotentJob, saveIdempotencyKey } from '../../db/jobs/idempotency-keys.ts'
import { findJobByKey } from '../../db/jobs/rows.ts'
import { type OwnerScope, ownerScopeKey } from '../../db/owner-scope.ts'
import { ServiceError } from '../../errors.ts'
import { ChurnMap } from '../../shared/churn-map.ts'
import type { ActiveJob } from '../active-job.ts'
import type { ActiveJobRegistry, JobHandle } from '../active-job-registry.ts'
import type { JobLookup } from '../job-lookup.ts'
import type { JobSubmission } from './new-job.ts'

/** How long an idempotency key identifies its submission. */
export const IDEMPOTENCY_RETENTION_SECONDS = 86_400

interface KnownSubmission {
  /** Null where the job was deleted. */
  readonly handle: JobHandle | null
  /** As `RequestDigests` protects it. */
  readonly digest: string
}

export class EarlierSubmissions {
  readonly #registry: ActiveJobRegistry
  readonly #lookup: JobLookup
  /** Jobs by idempotency key, until both are stored. */
  readonly #unstored = new ChurnMap<string, { job: ActiveJob; digest: string }>()

  constructor(registry: ActiveJobRegistry, lookup: JobLookup) {
    this.#registry = registry
    this.#lookup = lookup
  }

  /** The existing job of a repeated request. @throws CONFLICT, IDEMPOTENCY_CONFLICT where the earlier request was different */
  find(
    scope: OwnerScope,
    { job_id, idempotency_key: key = null }: JobSubmission,
    request_sha256: string,
  ): JobHandle | null {
    const keyed = key === null ? null : this.findByKey(scope, key, request_sha256)
    if (keyed) return keyed
    const named = job_id === null ? null : this.#lookup.find(scope, job_id)
    if (!named || this.#mayBeSame(named.row.request_sha256, request_sha256)) return named
    throw new ServiceError('CONFLICT', { message: `The job id "${job_id}" was used for another request.` })
  }

  /** Whether an idempotency key was used already. Only then does a request need its hash, which takes long for a large request. */
  hasKey(scope: OwnerScope, key: string): boolean {
    return this.#readKey(scope, key) !== null
  }

  /**
   * The job that was submitted with an idempotency key.
   * @throws IDEMPOTENCY_CONFLICT where the key was used for another request, JOB_NOT_FOUND where the job was deleted: it does not run again
   */
  findByKey(scope: OwnerScope, key: string, request_sha256: string): JobHandle | null {
    const known = this.#readKey(scope, key)
    if (!known) return null
    if (!this.#mayBeSame(known.digest, request_sha256)) throw new ServiceError('IDEMPOTENCY_CONFLICT')
    if (known.handle) return known.handle
    throw new ServiceError('JOB_NOT_FOUND', { message: 'The job of this idempotency key was deleted.' })
  }

  #mayBeSame(digest: string | null, request_sha256: string): boolean {
    return this.#registry.context.request_digests.mayBeSame(digest, request_sha256)
  }

  #readKey(scope: OwnerScope, key: string): KnownSubmission | null {
    const { store, platform } = this.#registry.context
    const young = this.#unstored.get(ownerScopeKey(scope, key))
    if (young) return { handle: { row: young.job.row, active: young.job }, digest: young.digest }
    const since = new Date(platform.now() - IDEMPOTENCY_RETENTION_SECONDS * 1000).toISOString()
    const kept = store.read((tx) => findIdempotentJob(tx, scope, key, since))
    if (!kept) return null
    const row = store.read((tx) => findJobByKey(tx, kept.job_key))
    return { handle: row ? this.#registry.handleOf(row) : null, digest: kept.request_sha256 }
  }

  /** Stores the key with the job. Until both are stored, a second submission finds the job in memory. */
  storeKey(scope: OwnerScope, key: string, digest: string, job: ActiveJob): void {
    const young = ownerScopeKey(scope, key)
    this.#unstored.set(young, { job, digest })
    const kept = { key, request_sha256: digest, job_key: job.row.key, created_at: job.row.created_at }
    job.write((tx) => saveIdempotencyKey(tx, scope, kept))
    const forget = () => void this.#unstored.delete(young)
    job.accepted().then(forget, forget)
  }
}
