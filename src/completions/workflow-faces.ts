// Which workflows are models, and how: the input that takes the conversation, and the output that is the answer.
import { type Scope, userKey } from '../db/scope.ts'
import { isRunnable, type Plan, type PlanInput } from '../engine/plan.ts'
import { ServiceError } from '../errors.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { WorkflowService } from '../workflows/service.ts'

/** A workflow as a model. */
export interface Face {
  /** The name of the input. */
  readonly input: string
  /** Whether it gets the last text of the user, or all messages. */
  readonly takes: 'text' | 'messages'
  /** The name of the output. */
  readonly output: string
}

/** A list with one of these names takes the conversation: of lists in general nobody knows what they are of. */
const CONVERSATION = /^(?:messages|conversation|history)$/

const MOST_KEPT = 50_000

/** What a graph is as a model, or why it is none. */
export function faceOf({ inputs, outputs }: Pick<Plan, 'inputs' | 'outputs'>): Face | string {
  const required = inputs.filter((input) => input.required)
  if (required.length > 1) return 'it needs several inputs'
  const fitting = (required.length === 1 ? required : inputs).filter((input) => takenBy(input) !== null)
  const [input, ...others] = fitting
  if (!input) return 'it has no input that takes a text, or messages'
  if (others.length > 0) return 'several of its inputs take a text, and none of them is required'
  const output = outputs.find(({ type }) => type.type === 'str')
  if (!output) return 'it has no text output'
  return { input: input.name, takes: takenBy(input)!, output: output.name }
}

function takenBy({ name, type, stream }: PlanInput): Face['takes'] | null {
  if (type.type === 'str') return 'text'
  const isList = type.type === 'list' || type.type === 'any'
  return isList && !stream && CONVERSATION.test(name) ? 'messages' : null
}

/** The faces of many workflows: a graph is looked at once, whatever becomes of its workflow. */
export class WorkflowFaces {
  readonly #workflows: Pick<WorkflowService, 'runnable'>
  readonly #reading: TimeSlices
  /** By the workflow's etag, which is the same wherever graphs mean the same. */
  readonly #isModel = new Map<string, boolean>()

  constructor(workflows: Pick<WorkflowService, 'runnable'>, reading: TimeSlices) {
    this.#workflows = workflows
    this.#reading = reading
  }

  /** Those that are models; an etag of null is not known yet. Graphs that were never compiled may take long: others get their turns. */
  async models<T extends { readonly id: string; readonly etag: string | null }>(
    owner: Scope,
    workflows: readonly T[],
  ): Promise<T[]> {
    const found: T[] = []
    const turns = this.#reading.turnsOf(userKey(owner))
    for (const workflow of workflows) {
      const known = workflow.etag === null ? undefined : this.#isModel.get(workflow.etag)
      if (turns.over) await turns.next()
      if (known ?? this.#look(owner, workflow)) found.push(workflow)
    }
    return found
  }

  #look(owner: Scope, { id, etag }: { readonly id: string; readonly etag: string | null }): boolean {
    try {
      const { compiled } = this.#workflows.runnable(owner, id)
      const isModel = isRunnable(compiled) && typeof faceOf(compiled.plan) !== 'string'
      // Dropping all is rare, and cheaper than knowing which was used last.
      if (this.#isModel.size >= MOST_KEPT) this.#isModel.clear()
      if (compiled.etag === etag && compiled.pending.size === 0) this.#isModel.set(etag, isModel)
      return isModel
    } catch (error) {
      // Deleted while others were looked at.
      if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return false
      throw error
    }
  }
}
