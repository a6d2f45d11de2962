// Resumes suspended jobs with the answers of clients.
import { findJobByKey } from '../../db/jobs/rows.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import { ServiceError } from '../../errors.ts'
import { type RunSteps, SchemaValidator } from '../../sandbox/schema-validator.ts'
import { KeyedQueue } from '../../shared/keyed-queue.ts'
import type { ActiveJobRegistry, JobHandle } from '../active-job-registry.ts'
import type { JobLookup } from '../job-lookup.ts'
import { preparePlan, readStoredPlan, requireStoredPlan } from '../stored-plans.ts'
import { validateAnswerValue } from './answer-validation.ts'
import { listAnswerableWaits, parseStoredWaits, selectWait, type WaitSelector } from './stored-waits.ts'
import { continueSuspendedJob } from './suspended-job.ts'

/** Wait requests with more characters are large. */
const LARGE_WAIT_CHARACTERS = 65_536

/** A client's answer to a suspended job. `at` is the JSON pointer of the answer in the request, for problems. */
export interface WaitAnswer extends WaitSelector {
  readonly value: unknown
  readonly at: string
}

export class WaitAnswers {
  readonly #registry: ActiveJobRegistry
  readonly #lookup: JobLookup
  readonly #draining: AbortSignal
  readonly #schemas = new SchemaValidator()
  /** Answers to jobs with large wait requests, queued by user. */
  readonly #largeAnswers = new KeyedQueue()

  /** `draining` aborts when jobs are not resumed any more. */
  constructor(registry: ActiveJobRegistry, lookup: JobLookup, draining: AbortSignal) {
    this.#registry = registry
    this.#lookup = lookup
    this.#draining = draining
  }

  /** Answers a wait request of a suspended job. @throws as `JobService.resume` */
  async answer(scope: OwnerScope, job_id: string, answer: WaitAnswer): Promise<JobHandle> {
    // An answer reads all wait requests of its job. Large ones are read one at a time per user, since memory is limited.
    if (!(await this.#hasLargeWaits(scope, job_id))) return this.#answer(scope, job_id, answer, 0)
    const user = userShareKey(scope)
    const ahead = this.#largeAnswers.length(user)
    return this.#largeAnswers.run(user, () => this.#answer(scope, job_id, answer, ahead))
  }

  async #hasLargeWaits(scope: OwnerScope, job_id: string): Promise<boolean> {
    const { waiting } = (await this.#lookup.get(scope, job_id)).row
    return waiting !== null && waiting.length > LARGE_WAIT_CHARACTERS
  }

  /** `ahead`: answers of the user to jobs with large wait requests that were pending when this answer came. */
  async #answer(scope: OwnerScope, job_id: string, answer: WaitAnswer, ahead: number): Promise<JobHandle> {
    const { plans, slices } = this.#registry.context
    let { row, active } = await this.#lookup.get(scope, job_id)
    while (active?.isDetached) {
      await active.flushed()
      ;({ row, active } = await this.#lookup.get(scope, job_id))
    }
    await preparePlan(plans, row)
    const firing = await this.#validate(this.#readSuspended(row.key), answer, ahead)
    using _ = await this.#registry.prepare(row)
    await slices.turn(userShareKey(row))
    // No await follows: of two concurrent answers, the second finds the job resumed.
    const now = this.#readSuspended(row.key)
    if (!parseStoredWaits(now).some((one) => one.firing === firing)) throw new ServiceError('JOB_NOT_SUSPENDED')
    const job = continueSuspendedJob(this.#registry, now, [{ firing, value: answer.value }])
    await job.flushed()
    return this.#lookup.readAfterCommit(job)
  }

  /** Reads a suspended job. @throws JOB_NOT_SUSPENDED */
  #readSuspended(key: number): JobTable {
    if (this.#draining.aborted) throw new ServiceError('SERVICE_UNAVAILABLE')
    const now = this.#registry.context.store.read((tx) => findJobByKey(tx, key))
    if (now?.status !== 'paused' || this.#registry.findByKey(key)) throw new ServiceError('JOB_NOT_SUSPENDED')
    return now
  }

  /**
   * Finds the firing that an answer is for, and validates the value. The job may be resumed by another request meanwhile.
   * @throws JOB_NOT_SUSPENDED, INVALID_PARAMETERS, INVALID_WORKFLOW_GRAPH where this version cannot run the job, SERVICE_UNAVAILABLE; DATA_DAMAGED
   * where the graph is damaged, and the job ends
   */
  async #validate(row: JobTable, answer: WaitAnswer, ahead: number): Promise<string> {
    const { plans, journals, slices, publisherOf } = this.#registry.context
    if (readStoredPlan(plans, row).obstacle === 'damaged') this.#registry.adopt(row).job.endDamaged(false)
    requireStoredPlan(plans, row)
    const requests = await journals.readWaitRequests(row)
    const owner = userShareKey(row)
    // The wait requests of thousands of firings take long to read, and many answers may come at once.
    await slices.turn(owner)
    const all = listAnswerableWaits(row, (firing) => requests.get(firing) ?? null)
    const { shown, request } = selectWait(all, answer, answer.at)
    const judged = { value: answer.value, at: `${answer.at}/value` }
    const runSteps: RunSteps = (steps) => slices.run(owner, steps)
    const found = await validateAnswerValue(this.#schemas, request, judged, { owner, runSteps, ahead })
    if (found.length > 0) {
      // The problems may quote the schema, which may contain secrets.
      const problems = publisherOf(row).redact(found)
      const message = `The value is not what the job waits for: ${problems[0]!.message}`
      throw new ServiceError('INVALID_PARAMETERS', { problems, message })
    }
    return shown.firing
  }
}
