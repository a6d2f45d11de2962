// Does the long work before a submission in time slices of its owner: it compiles a large graph, writes the text of an inline graph, and hashes a large
// request. Then it builds the parts of the job.
import { writeGraphParts } from '../../db/graphs.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { Graph } from '../../engine/compile/graph.ts'
import { ServiceError } from '../../errors.ts'
import type { RunDefaults } from '../../settings/definitions.ts'
import { isSmallValue } from '../../shared/value-size.ts'
import { requireRunnablePlan, summarizeProblems } from '../../workflows/invalid-graph-error.ts'
import { findParamProblems } from '../../workflows/param-validation.ts'
import type { ActiveJobParts } from '../active-job-components.ts'
import type { JobContext } from '../job-context.ts'
import { JobJournal } from '../journal/job-journal.ts'
import {
  createJobRow,
  createSeed,
  hashRequest,
  hashRequestSteps,
  type JobSubmission,
  resolveJobOptions,
} from './new-job.ts'
import { limitTimeout } from './stored-options.ts'

export class SubmissionPreparer {
  readonly #context: JobContext
  readonly #defaultsOf: (owner: OwnerScope) => RunDefaults
  /** Hashes that `prepare` has computed. */
  readonly #hashes = new WeakMap<JobSubmission, string>()

  /** `defaultsOf`: the owner's default options for runs whose requests do not set them. */
  constructor(context: JobContext, defaultsOf: (owner: OwnerScope) => RunDefaults) {
    this.#context = context
    this.#defaultsOf = defaultsOf
  }

  /** Null where there is no long work. @throws REQUEST_TOO_LARGE, MemoryUnavailableError, SERVICE_UNAVAILABLE */
  prepare(scope: OwnerScope, submission: JobSubmission): Promise<unknown> | null {
    const { graph, job_id, params } = submission
    const hashes = job_id !== null && !submission.admission && !(isSmallValue(params) && isSmallValue(graph))
    const compiling = this.#prepareGraph(scope, submission)
    if (!hashes) return compiling
    const hashing = this.#context.slices.run(userShareKey(scope), hashRequestSteps(submission))
    return Promise.all([compiling, hashing.then((hash) => this.#hashes.set(submission, hash))]).then(() => {})
  }

  #prepareGraph(scope: OwnerScope, { workflow_id, graph }: JobSubmission): Promise<unknown> | null {
    const { plans, workflows } = this.#context
    if (graph === null) return workflow_id === null ? null : workflows.prepare(scope, workflow_id)
    const owner = userShareKey(scope)
    const compiling = plans.prepare(owner, graph)
    return compiling && this.#storeGivenGraph(owner, graph, compiling)
  }

  async #storeGivenGraph(owner: string, graph: Graph, compiling: Promise<void>): Promise<void> {
    await compiling
    const { store, plans } = this.#context
    const { plan, sha256, body } = plans.compile(owner, graph)
    if (plan) await writeGraphParts(store, sha256, body)
  }

  /** The hash that identifies a repeated request. */
  hashOf(submission: JobSubmission): string {
    return this.#hashes.get(submission) ?? submission.admission?.request_sha256 ?? hashRequest(submission)
  }

  /**
   * The parts of a new job.
   * @throws WORKFLOW_NOT_FOUND, WORKFLOW_REVISION_CONFLICT, INVALID_WORKFLOW_GRAPH, INVALID_PARAMETERS, INVALID_REQUEST
   */
  createParts(
    scope: OwnerScope,
    submission: JobSubmission,
    { nextKey, digest }: { nextKey: () => number; digest: string | null },
  ): ActiveJobParts {
    const { compiled, workflow_id, revision } = this.#resolveGraph(scope, submission)
    const { admission, params, hasFollower } = submission
    if (admission && admission.workflow_etag !== compiled.etag) throw new ServiceError('WORKFLOW_REVISION_CONFLICT')
    const plan = requireRunnablePlan(compiled)
    const problems = findParamProblems(plan, params, submission.params_at)
    if (problems.length > 0)
      throw new ServiceError('INVALID_PARAMETERS', { problems, message: summarizeProblems(problems) })
    const { platform, time_limit } = this.#context
    const fields = {
      key: nextKey(),
      id: submission.job_id,
      workflow_id,
      revision,
      compiled,
      inline: submission.graph !== null,
      request_sha256: digest,
      name: submission.name,
      options: limitTimeout(resolveJobOptions(submission, this.#defaultsOf(scope)), time_limit),
      seed: createSeed(platform),
      preflight: admission?.preflight ?? null,
    }
    const row = createJobRow(scope, fields, platform)
    const loaded = { journal: JobJournal.createEmpty(this.#context, row.key, params), publishedHistory: null }
    return { row, unstored: compiled, plan, graph_bytes: compiled.bytes, loaded, hasFollower }
  }

  #resolveGraph(scope: OwnerScope, { workflow_id, graph }: JobSubmission) {
    const { plans, workflows, platform } = this.#context
    if (graph) {
      const compiled = plans.compile(userShareKey(scope), graph)
      return { compiled, workflow_id: workflow_id ?? platform.id('wf'), revision: null }
    }
    if (workflow_id === null)
      throw new ServiceError('INVALID_REQUEST', { message: 'Either workflow_id or graph is required.' })
    return workflows.runnable(scope, workflow_id)
  }
}
