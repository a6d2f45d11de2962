// Workflows as models: which of an owner's workflows and of the bundled examples are, and how a conversation becomes an ordinary job whose text output is the answer.
// The job belongs to its owner, not to the request: it runs on when nobody listens any more.
import type { ChatCompletionRequest, WorkflowListItem } from '../../generated/types.ts'
import { NOBODY, type Scope, userKey } from '../db/scope.ts'
import { isRunnable, type Plan } from '../engine/plan.ts'
import { ServiceError } from '../errors.ts'
import type { JobService, Submission } from '../jobs/service.ts'
import { meantBy } from '../models/meant.ts'
import type { Calling } from '../models/models.ts'
import { refuseUnsupported } from '../models/supported.ts'
import { compared, sortedSteps } from '../sorting.ts'
import { mapStep, type Steps, type TimeSlices } from '../time-slices.ts'
import { runnablePlan } from '../workflows/invalid-graph.ts'
import type { RunnableWorkflow, WorkflowService } from '../workflows/service.ts'
import type { AnswerPart } from './answering.ts'
import { withServiceErrors } from './errors.ts'
import { answerOf, type Following, unconfirmedAnswer } from './workflow-answer.ts'
import { type Face, faceOf, WorkflowFaces } from './workflow-faces.ts'
import { wordsOf, workflowInput } from './workflow-input.ts'

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

export interface WorkflowModelsParts extends Following {
  readonly workflows: Pick<
    WorkflowService,
    'list' | 'listed' | 'recentIds' | 'prepare' | 'runnable' | 'examples' | 'example'
  >
  readonly jobs: Following['jobs'] & Pick<JobService, 'submit'>
  /** What is read of many workflows shares these slices with others that read much. */
  readonly reading: TimeSlices
}

/** What the ids of these models begin with. */
export const WORKFLOW = 'workflow/'

export class WorkflowModels {
  readonly #parts: WorkflowModelsParts
  readonly #faces: WorkflowFaces
  /** They are the same for everybody, for as long as the process lasts. */
  #examples: Promise<WorkflowModel[]> | null = null

  constructor(parts: WorkflowModelsParts) {
    this.#parts = parts
    this.#faces = new WorkflowFaces(parts.workflows, parts.reading)
  }

  /** The owner's workflows that are models, by id, and then the bundled examples that are. */
  async list(owner: Scope): Promise<WorkflowModel[]> {
    const { workflows } = await this.#parts.workflows.list(owner, {})
    const found = await this.#faces.models(owner, workflows)
    const own = await this.#parts.reading.begin(userKey(owner), ownModels(found))
    this.#examples ??= this.#listExamples()
    return [...own, ...(await this.#examples)]
  }

  /** What a conversation with this workflow would be with. @throws ServiceError MODEL_NOT_FOUND */
  get(owner: Scope, workflow_id: string): WorkflowModel {
    const { revision, compiled } = this.#runnable(owner, workflow_id)
    fitting(workflow_id, isRunnable(compiled) ? compiled.plan : null)
    const { workflows } = this.#parts
    return revision === null ? this.#example(workflow_id) : ownModel(workflows.listed(owner, workflow_id))
  }

  /** In nobody's turns: whoever asks next waits for it as well. */
  async #listExamples(): Promise<WorkflowModel[]> {
    const all = this.#parts.workflows.examples().map(({ id }) => ({ id, etag: null }))
    return (await this.#faces.models({ user_id: NOBODY, workspace_id: null }, all)).map(({ id }) => this.#example(id))
  }

  #example(workflow_id: string): WorkflowModel {
    const { example, compiled } = this.#parts.workflows.example(workflow_id)
    return { id: WORKFLOW + workflow_id, workflow_id, name: example.name, etag: compiled.etag, created: 0 }
  }

  /**
   * Runs a workflow with a conversation, once the first part is asked for. To be ended with `return`, or by its signal: the job runs on.
   * @throws ServiceError INVALID_REQUEST with the field, MODEL_NOT_FOUND, INVALID_WORKFLOW_GRAPH, QUEUE_FULL, JOB_FAILED, JOB_CANCELLED,
   * JOB_SUSPENDED, SERVICE_UNAVAILABLE; the signal's reason
   */
  answer(
    owner: Scope,
    workflow_id: string,
    body: ChatCompletionRequest,
    calling: Calling,
  ): AsyncGenerator<AnswerPart, void, void> {
    return withServiceErrors(this.#answer(owner, workflow_id, body, calling))
  }

  async *#answer(
    owner: Scope,
    workflow_id: string,
    body: ChatCompletionRequest,
    calling: Calling,
  ): AsyncGenerator<AnswerPart, void, void> {
    calling.signal.throwIfAborted()
    await this.#parts.workflows.prepare(owner, workflow_id)
    const face = fitting(workflow_id, runnablePlan(this.#runnable(owner, workflow_id).compiled))
    refuseUnsupported(body, { fields: [] }, 'workflow')
    const input = workflowInput(body, face.takes)
    const { active } = this.#parts.jobs.submit(owner, submission(workflow_id, { [face.input]: input }))
    if (!active) throw new Error('a new job is always active')
    const job_id = active.row.id
    await active.accepted().catch((thrown: unknown) => {
      throw thrown instanceof ServiceError && thrown.job_id === job_id
        ? unconfirmedAnswer(job_id, thrown.cause)
        : thrown
    })
    yield { type: 'job', job_id, workflow_id }
    const asked = { owner, active, output: face.output, words: wordsOf(input), model: WORKFLOW + workflow_id }
    yield* answerOf(this.#parts, asked, calling)
  }

  /** What `POST /api/workflows/{id}/run` runs is found here, and nothing else. */
  #runnable(owner: Scope, workflow_id: string): RunnableWorkflow {
    try {
      return this.#parts.workflows.runnable(owner, workflow_id)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'WORKFLOW_NOT_FOUND') throw error
      throw noModel(`There is no workflow "${shown(workflow_id)}".${this.#meant(owner, workflow_id)}`)
    }
  }

  #meant(owner: Scope, workflow_id: string): string {
    const { workflows } = this.#parts
    const ids = [...workflows.examples().map(({ id }) => id), ...workflows.recentIds(owner, MOST_LOOKED_AT)]
    return meantBy(workflow_id, ids, (id) => WORKFLOW + id)
  }
}

/** By id. */
function* ownModels(workflows: readonly WorkflowListItem[]): Steps<WorkflowModel[]> {
  return yield* sortedSteps(yield* mapStep(workflows, ownModel), (a, b) => compared(a.id, b.id))
}

function ownModel({ id, name, etag, created_at }: WorkflowListItem): WorkflowModel {
  const created = Math.floor(Date.parse(created_at) / 1000)
  return { id: WORKFLOW + id, workflow_id: id, name: name || id, etag, created }
}

/** @throws ServiceError MODEL_NOT_FOUND */
function fitting(workflow_id: string, plan: Plan | null): Face {
  const face = plan ? faceOf(plan) : 'it cannot run'
  if (typeof face !== 'string') return face
  throw noModel(`The workflow "${shown(workflow_id)}" is no model: ${face}.`)
}

/** An ordinary run, as one over HTTP. */
function submission(workflow_id: string, params: Submission['params']): Submission {
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
    watched: false,
    fed: false,
  }
}

function noModel(message: string): ServiceError {
  return new ServiceError('MODEL_NOT_FOUND', { message, param: 'model' })
}

/** So many of an owner's workflows, the latest ones, may be those that were meant. */
const MOST_LOOKED_AT = 100

/** How much of an id an error shows. */
const SHOWN = 100

function shown(id: string): string {
  return id.length <= SHOWN ? id : `${id.slice(0, SHOWN)}…`
}
