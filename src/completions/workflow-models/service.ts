// Offers an owner's workflows and the bundled examples as models. A conversation becomes an ordinary job, and the job's
// text output is the answer. The job belongs to its owner and not to the request: it runs on when the client
// disconnects.
import type { ChatCompletionRequest, WorkflowListItem } from '../../../generated/types.ts'
import { DELETED_ROWS_OWNER, type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { isRunnable, type Plan } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import type { JobService, UnkeyedSubmission } from '../../jobs/service.ts'
import type { ModelCallOptions } from '../../models/calls/model-service.ts'
import { didYouMean } from '../../models/catalogue/model-name-suggestions.ts'
import { rejectUnsupportedFields } from '../../models/providers/shared/unsupported-fields.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { mapSteps, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import { requireRunnablePlan } from '../../workflows/invalid-graph-error.ts'
import type { RunnableWorkflow } from '../../workflows/runnable-workflows.ts'
import type { WorkflowService } from '../../workflows/service.ts'
import type { AnswerPart } from '../answers/generator.ts'
import { convertErrors } from '../error-conversion.ts'
import { streamWorkflowAnswer, toUnconfirmedError, type WorkflowAnswerParts } from './answer.ts'
import { type ConversationMapping, findConversationMapping, WorkflowModelFilter } from './conversation-mapping.ts'
import { createWorkflowInput, joinMessageTexts } from './input.ts'

export interface WorkflowModel {
  /** `workflow/<id>`. */
  readonly id: string
  readonly workflow_id: string
  readonly name: string
  /** Changes when the behaviour of the workflow changes. */
  readonly etag: string
  /** In Unix seconds; 0 for a bundled example. */
  readonly created: number
}

export interface WorkflowModelServiceParts extends WorkflowAnswerParts {
  readonly workflows: Pick<
    WorkflowService,
    'list' | 'getListItem' | 'recentIds' | 'prepare' | 'runnable' | 'examples' | 'example'
  >
  readonly jobs: WorkflowAnswerParts['jobs'] & Pick<JobService, 'submit'>
  /** Time slices that are shared with other large reads. */
  readonly reading: TimeSliceScheduler
}

/** The prefix of these models' ids. */
export const WORKFLOW_MODEL_PREFIX = 'workflow/'

export class WorkflowModelService {
  readonly #parts: WorkflowModelServiceParts
  readonly #filter: WorkflowModelFilter
  /** The same for all owners during the life of the process. */
  #examples: Promise<WorkflowModel[]> | null = null

  constructor(parts: WorkflowModelServiceParts) {
    this.#parts = parts
    this.#filter = new WorkflowModelFilter(parts.workflows, parts.reading)
  }

  /** The owner's workflows that are models, sorted by id, then the bundled examples that are models. */
  async list(owner: OwnerScope): Promise<WorkflowModel[]> {
    const { workflows } = await this.#parts.workflows.list(owner, {})
    const found = await this.#filter.filterModels(owner, workflows)
    const own = await this.#parts.reading.begin(userShareKey(owner), toModelsSteps(found))
    this.#examples ??= this.#listExamples()
    return [...own, ...(await this.#examples)]
  }

  /** @throws ServiceError MODEL_NOT_FOUND */
  get(owner: OwnerScope, workflow_id: string): WorkflowModel {
    const { revision, compiled } = this.#runnable(owner, workflow_id)
    requireMapping(workflow_id, isRunnable(compiled) ? compiled.plan : null)
    const { workflows } = this.#parts
    return revision === null ? this.#exampleModel(workflow_id) : toModel(workflows.getListItem(owner, workflow_id))
  }

  /** Uses no owner's turns: callers that come later wait for the same list. */
  async #listExamples(): Promise<WorkflowModel[]> {
    const all = this.#parts.workflows.examples().map(({ id }) => ({ id, etag: null }))
    return (await this.#filter.filterModels({ user_id: DELETED_ROWS_OWNER, workspace_id: null }, all)).map(({ id }) =>
      this.#exampleModel(id),
    )
  }

  #exampleModel(workflow_id: string): WorkflowModel {
    const { example, compiled } = this.#parts.workflows.example(workflow_id)
    return { id: WORKFLOW_MODEL_PREFIX + workflow_id, workflow_id, name: example.name, etag: compiled.etag, created: 0 }
  }

  /**
   * Runs a workflow with a conversation, once the first part is requested. The caller ends it with `return` or its
   * signal; the job runs on.
   * @throws ServiceError INVALID_REQUEST with the field, MODEL_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL,
   * JOB_FAILED, JOB_CANCELLED, JOB_SUSPENDED, SERVICE_UNAVAILABLE; the signal's reason
   */
  answer(
    owner: OwnerScope,
    workflow_id: string,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void> {
    return convertErrors(this.#answer(owner, workflow_id, body, calling))
  }

  async *#answer(
    owner: OwnerScope,
    workflow_id: string,
    body: ChatCompletionRequest,
    calling: ModelCallOptions,
  ): AsyncGenerator<AnswerPart, void, void> {
    calling.signal.throwIfAborted()
    await this.#parts.workflows.prepare(owner, workflow_id)
    const mapping = requireMapping(workflow_id, requireRunnablePlan(this.#runnable(owner, workflow_id).compiled))
    rejectUnsupportedFields(body, { fields: [] }, 'workflow')
    const input = createWorkflowInput(body, mapping.takes)
    const { active } = this.#parts.jobs.submit(owner, createSubmission(workflow_id, { [mapping.input]: input }))
    const job_id = active.row.id
    await active.accepted().catch((thrown: unknown) => {
      throw thrown instanceof ServiceError && thrown.job_id === job_id
        ? toUnconfirmedError(job_id, thrown.cause)
        : thrown
    })
    yield { type: 'job', job_id, workflow_id }
    const asked = {
      owner,
      active,
      output: mapping.output,
      words: joinMessageTexts(input),
      model: WORKFLOW_MODEL_PREFIX + workflow_id,
    }
    yield* streamWorkflowAnswer(this.#parts, asked, calling)
  }

  /** Finds only workflows that `POST /api/workflows/{id}/run` can run. */
  #runnable(owner: OwnerScope, workflow_id: string): RunnableWorkflow {
    try {
      return this.#parts.workflows.runnable(owner, workflow_id)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'WORKFLOW_NOT_FOUND') throw error
      throw createModelNotFoundError(
        `There is no workflow "${shortenId(workflow_id)}".${this.#didYouMean(owner, workflow_id)}`,
      )
    }
  }

  #didYouMean(owner: OwnerScope, workflow_id: string): string {
    const { workflows } = this.#parts
    const ids = [...workflows.examples().map(({ id }) => id), ...workflows.recentIds(owner, MAX_SUGGESTED)]
    return didYouMean(workflow_id, ids, (id) => WORKFLOW_MODEL_PREFIX + id)
  }
}

/** Sorted by id. */
function* toModelsSteps(workflows: readonly WorkflowListItem[]): Steps<WorkflowModel[]> {
  return yield* sortSteps(yield* mapSteps(workflows, toModel), (a, b) => compareTexts(a.id, b.id))
}

function toModel({ id, name, etag, created_at }: WorkflowListItem): WorkflowModel {
  const created = Math.floor(Date.parse(created_at) / 1000)
  return { id: WORKFLOW_MODEL_PREFIX + id, workflow_id: id, name: name || id, etag, created }
}

/** @throws ServiceError MODEL_NOT_FOUND */
function requireMapping(workflow_id: string, plan: Plan | null): ConversationMapping {
  const mapping = plan ? findConversationMapping(plan) : 'it cannot run'
  if (typeof mapping !== 'string') return mapping
  throw createModelNotFoundError(`The workflow "${shortenId(workflow_id)}" is not a model: ${mapping}.`)
}

/** An ordinary run, like a run over HTTP. */
function createSubmission(workflow_id: string, params: UnkeyedSubmission['params']): UnkeyedSubmission {
  return {
    workflow_id,
    graph: null,
    params,
    params_at: '/body/messages',
    job_id: null,
    name: null,
    concurrent: true,
    timeout_seconds: null,
    options: { persistence: null, event_detail: null, asset_persistence: null },
    hasFollower: false,
    acceptsStreamInput: false,
  }
}

function createModelNotFoundError(message: string): ServiceError {
  return new ServiceError('MODEL_NOT_FOUND', { message, param: 'model' })
}

/** The latest workflows of an owner that error messages may suggest. */
const MAX_SUGGESTED = 100

/** In characters: how much of an id an error shows. */
const MAX_SHOWN_LENGTH = 100

function shortenId(id: string): string {
  return truncateText(id, MAX_SHOWN_LENGTH)
}
