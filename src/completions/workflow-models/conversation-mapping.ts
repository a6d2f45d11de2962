// Which workflows are models, and how: the input that takes the conversation, and the output that is the answer.
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { isRunnable, type Plan, type PlanInput } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { WorkflowService } from '../../workflows/service.ts'

/** A workflow as a model. */
export interface ConversationMapping {
  /** The name of the input. */
  readonly input: string
  /** Whether it gets the last text of the user, or all messages. */
  readonly takes: 'text' | 'messages'
  /** The name of the output. */
  readonly output: string
}

/** A list with one of these names takes the conversation: of lists in general nobody knows what they are of. */
const CONVERSATION_INPUT = /^(?:messages|conversation|history)$/

const MAX_CACHED = 50_000

/** What a graph is as a model, or why it is none. */
export function findConversationMapping({
  inputs,
  outputs,
}: Pick<Plan, 'inputs' | 'outputs'>): ConversationMapping | string {
  const required = inputs.filter((input) => input.required)
  if (required.length > 1) return 'it needs several inputs'
  const fitting = (required.length === 1 ? required : inputs).filter((input) => detectConversationForm(input) !== null)
  const [input, ...others] = fitting
  if (!input) return 'it has no input that takes a text, or messages'
  if (others.length > 0) return 'several of its inputs take a text, and none of them is required'
  const output = outputs.find(({ type }) => type.type === 'str')
  if (!output) return 'it has no text output'
  return { input: input.name, takes: detectConversationForm(input)!, output: output.name }
}

function detectConversationForm({ name, type, stream }: PlanInput): ConversationMapping['takes'] | null {
  if (type.type === 'str') return 'text'
  const isList = type.type === 'list' || type.type === 'any'
  return isList && !stream && CONVERSATION_INPUT.test(name) ? 'messages' : null
}

/** The faces of many workflows: a graph is looked at once, whatever becomes of its workflow. */
export class WorkflowModelFilter {
  readonly #workflows: Pick<WorkflowService, 'runnable'>
  readonly #slices: TimeSliceScheduler
  /** By the workflow's etag, which is the same wherever graphs mean the same. */
  readonly #isModelByEtag = new Map<string, boolean>()

  constructor(workflows: Pick<WorkflowService, 'runnable'>, reading: TimeSliceScheduler) {
    this.#workflows = workflows
    this.#slices = reading
  }

  /** Those that are models; an etag of null is not known yet. Graphs that were never compiled may take long: others get their turns. */
  async filterModels<T extends { readonly id: string; readonly etag: string | null }>(
    owner: OwnerScope,
    workflows: readonly T[],
  ): Promise<T[]> {
    const found: T[] = []
    const turns = this.#slices.turnsOf(userShareKey(owner))
    for (const workflow of workflows) {
      const known = workflow.etag === null ? undefined : this.#isModelByEtag.get(workflow.etag)
      if (turns.over) await turns.next()
      if (known ?? this.#checkIsModel(owner, workflow)) found.push(workflow)
    }
    return found
  }

  #checkIsModel(owner: OwnerScope, { id, etag }: { readonly id: string; readonly etag: string | null }): boolean {
    try {
      const { compiled } = this.#workflows.runnable(owner, id)
      const isModel = isRunnable(compiled) && typeof findConversationMapping(compiled.plan) !== 'string'
      // Dropping all is rare, and cheaper than knowing which was used last.
      if (this.#isModelByEtag.size >= MAX_CACHED) this.#isModelByEtag.clear()
      if (compiled.etag === etag && compiled.pendingExpressions.size === 0) this.#isModelByEtag.set(etag, isModel)
      return isModel
    } catch (error) {
      // Deleted while others were looked at.
      if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return false
      throw error
    }
  }
}
