// Decides which workflows are models: which input receives the conversation, and which output is the answer.
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import { isRunnable, type Plan, type PlanInput } from '../../engine/compile/compiler.ts'
import { ServiceError } from '../../errors.ts'
import { OwnerCache } from '../../shared/owner-cache.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { WorkflowService } from '../../workflows/service.ts'

/** How a workflow is used as a model. */
export interface ConversationMapping {
  /** The name of the input. */
  readonly input: string
  /** Whether the input receives the last text of the user, or all messages. */
  readonly takes: 'text' | 'messages'
  /** The name of the output. */
  readonly output: string
}

/** A list with one of these names receives the conversation. The content of other lists is unknown. */
const CONVERSATION_INPUT = /^(?:messages|conversation|history)$/

const MAX_CACHED = 50_000

/** Returns the mapping of a graph, or the reason why the graph is not a model. */
export function findConversationMapping({
  inputs,
  outputs,
}: Pick<Plan, 'inputs' | 'outputs'>): ConversationMapping | string {
  const required = inputs.filter((input) => input.required)
  if (required.length > 1) return 'it has several required inputs'
  const fitting = (required.length === 1 ? required : inputs).filter((input) => detectConversationForm(input) !== null)
  const [input, ...others] = fitting
  if (!input) return 'it has no input for a text or for messages'
  if (others.length > 0) return 'several of its inputs take a text, but none of them is required'
  const output = outputs.find(({ type }) => type.type === 'str')
  if (!output) return 'it has no text output'
  return { input: input.name, takes: detectConversationForm(input)!, output: output.name }
}

function detectConversationForm({ name, type, stream }: PlanInput): ConversationMapping['takes'] | null {
  if (type.type === 'str') return 'text'
  const isList = type.type === 'list' || type.type === 'any'
  return isList && !stream && CONVERSATION_INPUT.test(name) ? 'messages' : null
}

/** Remembers which workflows are models: each graph is checked once. */
export class WorkflowModelFilter {
  readonly #workflows: Pick<WorkflowService, 'runnable'>
  readonly #slices: TimeSliceScheduler
  /** By owner and the workflow's etag, which is equal for graphs with the same meaning. */
  readonly #isModel = new OwnerCache<boolean>(MAX_CACHED)

  constructor(workflows: Pick<WorkflowService, 'runnable'>, reading: TimeSliceScheduler) {
    this.#workflows = workflows
    this.#slices = reading
  }

  /**
   * Filters the workflows that are models; a null etag is not known yet. Compiling graphs may take long: other owners
   * get their turns.
   */
  async filterModels<T extends { readonly id: string; readonly etag: string | null }>(
    owner: OwnerScope,
    workflows: readonly T[],
  ): Promise<T[]> {
    const found: T[] = []
    const user = userShareKey(owner)
    const turns = this.#slices.turnsOf(user)
    for (const workflow of workflows) {
      const known = workflow.etag === null ? undefined : this.#isModel.get(user, workflow.etag)
      if (turns.over) await turns.next()
      if (known ?? this.#checkIsModel(owner, workflow)) found.push(workflow)
    }
    return found
  }

  #checkIsModel(owner: OwnerScope, { id, etag }: { readonly id: string; readonly etag: string | null }): boolean {
    try {
      const { compiled } = this.#workflows.runnable(owner, id)
      const isModel = isRunnable(compiled) && typeof findConversationMapping(compiled.plan) !== 'string'
      if (compiled.etag === etag && compiled.pendingExpressions.size === 0)
        this.#isModel.set(userShareKey(owner), etag, isModel)
      return isModel
    } catch (error) {
      // The workflow was deleted while other workflows were checked.
      if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return false
      throw error
    }
  }
}
