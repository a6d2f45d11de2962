// Runs the tool calls that an agent's model makes in one turn. Each call is a step. A finished call is not repeated, and neither is a call
// of an earlier attempt that may have taken effect.
import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type { FiringStep, NodeContext } from '../../engine/node-api/node-context.ts'
import { countFittingToolCalls, toolArgumentsTooLongMessage } from '../../shared/json.ts'
import { AgentDeadline, readSavedTime } from './deadline.ts'
import {
  type AgentTool,
  type AgentToolResult,
  executeToolCall,
  LOST_CALL_RESULT,
  type ParsedArguments,
  parseToolArguments,
  type ToolCall,
} from './tools.ts'
import type { AgentUsage } from './usage-limits.ts'
import type { WastedUsage } from './wasted-usage.ts'

/** Further calls of one turn are refused. No real turn has more. */
const MOST_CALLS = 64
const TOO_MANY = `At most ${MOST_CALLS} calls are carried out in one turn.`

/** In characters. The results of one turn are sent together. */
const LONGEST_RESULTS = 4_000_000

export interface ToolCallInputs {
  readonly parallel: boolean
  readonly max_result_characters: number
}

/** The result of a call as plain data, which is remembered. */
interface ToolCallOutcome extends AgentToolResult {
  readonly ms: number
}

export type ToolCallRecord = ToolCall & ToolCallOutcome

export interface ToolCallExecutorParts {
  readonly inputs: ToolCallInputs
  readonly context: NodeContext
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly usage: AgentUsage
  readonly wastedUsage: WastedUsage
}

interface TurnCall {
  /** The name of the step of this call. */
  readonly name: string
  /** The position of the call in its turn. */
  readonly index: number
  /** Whether the arguments of this call and of those before it fit into the limit. */
  readonly fits: boolean
  readonly maxResultCharacters: number
  readonly deadline: AgentDeadline
  /** Collects the outcomes of calls that ran in this attempt. */
  readonly newOutcomes: ToolCallOutcome[]
}

export class ToolCallExecutor {
  readonly #parts: ToolCallExecutorParts

  constructor(parts: ToolCallExecutorParts) {
    this.#parts = parts
  }

  /**
   * Runs the calls of a turn, in parallel unless the node forbids it. @throws NonRetryableError if the time limit of the agent is reached
   */
  async execute(turn: number, calls: readonly ToolCall[]): Promise<ToolCallRecord[]> {
    const { inputs, context, usage, wastedUsage } = this.#parts
    const name = `calls ${turn}`
    const before = readSavedTime(context, name)
    usage.ms += before
    using deadline = new AgentDeadline(context, name, usage.msLeft)
    const fresh: ToolCallOutcome[] = []
    const fitting = countFittingToolCalls(calls.map((call) => call.arguments))
    const maxResultCharacters = Math.min(
      inputs.max_result_characters,
      Math.floor(LONGEST_RESULTS / Math.min(calls.length, MOST_CALLS)),
    )
    const executeOne = (call: ToolCall, at: number) =>
      this.#executeCall(call, {
        name: `call ${turn}.${at}`,
        index: at,
        fits: at < fitting,
        maxResultCharacters,
        deadline,
        newOutcomes: fresh,
      })
    const begun = readSteadyTime(context.clock)
    try {
      const results: ToolCallRecord[] = []
      if (inputs.parallel) results.push(...(await settleAll(calls.map(executeOne))))
      else for (const [at, call] of calls.entries()) results.push(await executeOne(call, at))
      usage.ms += Math.max(this.#totalMs(results), readSavedTime(context, name)) - before
      return results
    } catch (error) {
      const took = readSteadyTime(context.clock) - begun - deadline.suspendedMs
      await wastedUsage.save({ use: null, ms: Math.max(0, took - Math.max(this.#totalMs(fresh), deadline.savedMs)) })
      throw deadline.isOver ? usage.timeLimitError() : error
    }
  }

  /** How long the calls of one turn took, in milliseconds. */
  #totalMs(calls: readonly ToolCallOutcome[]): number {
    const all = calls.map(({ ms }) => ms)
    return this.#parts.inputs.parallel ? Math.max(0, ...all) : all.reduce((sum, ms) => sum + ms, 0)
  }

  async #executeCall(call: ToolCall, place: TurnCall): Promise<ToolCallRecord> {
    const { context } = this.#parts
    context.signal.throwIfAborted()
    if (isLostCall(context, place.name)) return this.#recordLostCall(call, place)
    using step = await context.step(place.name)
    if (step.previousResult) return { ...call, ...(step.previousResult.value as ToolCallOutcome) }
    place.deadline.signal.throwIfAborted()
    const args = readCallArguments(call, place)
    publishCall(context, call, args)
    // Time that the call waits for people is not its own.
    const time = () => readSteadyTime(context.clock) - place.deadline.suspendedMs
    const begun = time()
    const outcome = await this.#callTool(call, args, place, step)
    const called: ToolCallOutcome = { ...outcome, ms: Math.max(0, time() - begun) }
    await step.end(called)
    place.newOutcomes.push(called)
    context.tool({ ...callIdentity(call), kind: 'result', ...outcome })
    return { ...call, ...called }
  }

  async #callTool(
    call: ToolCall,
    args: ParsedArguments,
    { name, index, maxResultCharacters, deadline: { signal } }: TurnCall,
    step: FiringStep,
  ): Promise<AgentToolResult> {
    const { context, tools } = this.#parts
    if (index >= MOST_CALLS) return { result: null, error: TOO_MANY }
    const { redact } = context.services
    const recordBegin = async () => {
      signal.throwIfAborted()
      if (!context.findKept(begunMarkerKey(name))) await context.keep(begunMarkerKey(name), true)
    }
    return executeToolCall(tools, call, step, {
      args,
      maxResultCharacters,
      redact,
      signal,
      recordBegin,
    })
  }

  /** Keeps the result at once, without an open step: after a crash, a later process must not take the step for a call to resume. */
  async #recordLostCall(call: ToolCall, place: TurnCall): Promise<ToolCallRecord> {
    const { context } = this.#parts
    publishCall(context, call, readCallArguments(call, place))
    await context.keep(place.name, { ...LOST_CALL_RESULT, ms: 0 } satisfies ToolCallOutcome)
    context.tool({ ...callIdentity(call), kind: 'result', ...LOST_CALL_RESULT })
    return { ...call, ...LOST_CALL_RESULT, ms: 0 }
  }
}

function readCallArguments(call: ToolCall, { fits }: TurnCall): ParsedArguments {
  return fits ? parseToolArguments(call) : { error: toolArgumentsTooLongMessage() }
}

/** Shows the call to people who watch. Invalid arguments are shown as an empty object. */
function publishCall(context: NodeContext, call: ToolCall, args: ParsedArguments): void {
  context.tool({ ...callIdentity(call), kind: 'call', arguments: 'given' in args ? args.given : {} })
}

function callIdentity({ id, name }: ToolCall): { readonly tool_call_id: string; readonly name: string } {
  return { tool_call_id: id, name }
}

/** The key under which the start of a non-repeatable call is kept. */
function begunMarkerKey(name: string): string {
  return `begun ${name}`
}

/**
 * Whether the call began in an attempt or job that is over, and never finished: its outcome is unknown. An interrupted call is not lost. It
 * resumes inside, where each node knows how far it came.
 */
function isLostCall(context: NodeContext, name: string): boolean {
  return (
    context.findKept(begunMarkerKey(name)) !== null &&
    context.findKept(name) === null &&
    !context.isStepInterrupted(name)
  )
}

/** Waits until every call has settled, then throws the first error, if any. */
async function settleAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
