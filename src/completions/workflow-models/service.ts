// Workflows as models: which of an owner's workflows and of the bundled examples are, and how a conversation becomes an ordinary job whose text output is the answer.
// The job belongs to its owner, not to the request: it runs on when nobody listens any more.
import type { ChatCompletionRequest, WorkflowListItem } from '../../../generated/types.ts'
import { DELETED_ROWS_OWNER, type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { isRunnable, type Plan } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import type { JobService, JobSubmission } from '../../jobs/service.ts'
import type { ModelCallOptions } from '../../models/calls/model-service.ts'
import { didYouMean } from '../../models/catalogue/model-name-suggestions.ts'
import { rejectUnsupportedFields } from '../../models/providers/shared/unsupported-fields.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { mapSteps, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import { requireRunnablePlan } from '../../workflows/invalid-graph-error.ts'
import type { RunnableWorkflow, WorkflowService } from '../../workflows/service.ts'
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
  /** Changes when what the workflow does changes. */
  readonly etag: string
  /** Unix seconds; 0 for a bundled example. */
  readonly created: number
}

export interface WorkflowModelServiceParts extends WorkflowAnswerParts {
  readonly workflows: Pick<
    WorkflowService,
    'list' | 'getListItem' | 'recentIds' | 'prepare' | 'runnable' | 'examples' | 'example'
  >
  readonly jobs: WorkflowAnswerParts['jobs'] & Pick<JobService, 'submit'>
  /** What is read of many workflows shares these slices with others that read much. */
  readonly reading: TimeSliceScheduler
}

/** What the ids of these models begin with. */
export const WORKFLOW_MODEL_PREFIX = 'workflow/'

export class WorkflowModelService {
  readonly #parts: WorkflowModelServiceParts
  readonly #filter: WorkflowModelFilter
  /** They are the same for everybody, for as long as the process lasts. */
  #examples: Promise<WorkflowModel[]> | null = null

  constructor(parts: WorkflowModelServiceParts) {
    this.#parts = parts
    this.#filter = new WorkflowModelFilter(parts.workflows, parts.reading)
  }

  /** The owner's workflows that are models, by id, and then the bundled examples that are. */
  async list(owner: OwnerScope): Promise<WorkflowModel[]> {
    const { workflows } = await this.#parts.workflows.list(owner, {})
    const found = await this.#filter.filterModels(owner, workflows)
    const own = await this.#parts.reading.begin(userShareKey(owner), toModelsSteps(found))
    this.#examples ??= this.#listExamples()
    return [...own, ...(await this.#examples)]
  }

  /** What a conversation with this workflow would be with. @throws ServiceError MODEL_NOT_FOUND */
  get(owner: OwnerScope, workflow_id: string): WorkflowModel {
    const { revision, compiled } = this.#runnable(owner, workflow_id)
    requireMapping(workflow_id, isRunnable(compiled) ? compiled.plan : null)
    const { workflows } = this.#parts
    return revision === null ? this.#exampleModel(workflow_id) : toModel(workflows.getListItem(owner, workflow_id))
  }

  /** In nobody's turns: whoever asks next waits for it as well. */
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
   * Runs a workflow with a conversation, once the first part is asked for. To be ended with `return`, or by its signal: the job runs on.
   * @throws ServiceError INVALID_REQUEST with the field, MODEL_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL, JOB_FAILED, JOB_CANCELLED,
   * JOB_SUSPENDED, SERVICE_UNAVAILABLE; the signal's reason
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
    const face = requireMapping(workflow_id, requireRunnablePlan(this.#runnable(owner, workflow_id).compiled))
    rejectUnsupportedFields(body, { fields: [] }, 'workflow')
    const input = createWorkflowInput(body, face.takes)
    const { active } = this.#parts.jobs.submit(owner, createSubmission(workflow_id, { [face.input]: input }))
    if (!active) throw new Error('a new job is always active')
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
      output: face.output,
      words: joinMessageTexts(input),
      model: WORKFLOW_MODEL_PREFIX + workflow_id,
    }
    yield* streamWorkflowAnswer(this.#parts, asked, calling)
  }

  /** What `POST /api/workflows/{id}/run` runs is found here, and nothing else. */
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

/** By id. */
function* toModelsSteps(workflows: readonly WorkflowListItem[]): Steps<WorkflowModel[]> {
  return yield* sortSteps(yield* mapSteps(workflows, toModel), (a, b) => compareTexts(a.id, b.id))
}

function toModel({ id, name, etag, created_at }: WorkflowListItem): WorkflowModel {
  const created = Math.floor(Date.parse(created_at) / 1000)
  return { id: WORKFLOW_MODEL_PREFIX + id, workflow_id: id, name: name || id, etag, created }
}

/** @throws ServiceError MODEL_NOT_FOUND */
function requireMapping(workflow_id: string, plan: Plan | null): ConversationMapping {
  const face = plan ? findConversationMapping(plan) : 'it cannot run'
  if (typeof face !== 'string') return face
  throw createModelNotFoundError(`The workflow "${shortenId(workflow_id)}" is no model: ${face}.`)
}

/** An ordinary run, as one over HTTP. */
function createSubmission(workflow_id: string, params: JobSubmission['params']): JobSubmission {
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

/** So many of an owner's workflows, the latest ones, may be those that were meant. */
const MAX_SUGGESTED = 100

/** How much of an id an error shows. */
const MAX_SHOWN_LENGTH = 100

function shortenId(id: string): string {
  return id.length <= MAX_SHOWN_LENGTH ? id : `${id.slice(0, MAX_SHOWN_LENGTH)}…`
}
