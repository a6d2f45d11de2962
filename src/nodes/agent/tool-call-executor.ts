// The calls of tools that an agent's model makes in one turn: each is a step, none that had ended is made again, and neither is one that began
// in an attempt before this one and may have taken effect.
import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type { FiringStep, NodeContext } from '../../engine/node-api/node-type.ts'
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

/** Calls of one turn beyond these are refused: no honest one has more. */
const MOST_CALLS = 64
const TOO_MANY = `At most ${MOST_CALLS} calls are carried out in one turn.`

/** Characters of the results of one turn: they are sent together. */
const LONGEST_RESULTS = 4_000_000

export interface ToolCallInputs {
  readonly parallel: boolean
  readonly max_result_characters: number
}

/** What a call came to: plain data, which is remembered. */
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

/** One call of a turn. */
interface TurnCall {
  /** Of its step. */
  readonly name: string
  /** Which of the calls of its turn it is. */
  readonly index: number
  /** Whether there is room for its arguments, and for those of the calls before it. */
  readonly fits: boolean
  /** The most characters of its result. */
  readonly maxResultCharacters: number
  readonly deadline: AgentDeadline
  /** Takes what it came to, where it was made just now. */
  readonly newOutcomes: ToolCallOutcome[]
}

export class ToolCallExecutor {
  readonly #parts: ToolCallExecutorParts

  constructor(parts: ToolCallExecutorParts) {
    this.#parts = parts
  }

  /** Carries out the calls of a turn, side by side unless that is not wanted. @throws Final where the agent's time is over */
  async execute(turn: number, calls: readonly ToolCall[]): Promise<ToolCallRecord[]> {
    const { inputs, context, usage: used, wastedUsage: wasted } = this.#parts
    const name = `calls ${turn}`
    const before = readSavedTime(context, name)
    used.ms += before
    using deadline = new AgentDeadline(context, name, used.msLeft)
    const fresh: ToolCallOutcome[] = []
    const fitting = countFittingToolCalls(calls.map((call) => call.arguments))
    const longest = Math.min(
      inputs.max_result_characters,
      Math.floor(LONGEST_RESULTS / Math.min(calls.length, MOST_CALLS)),
    )
    const executeOne = (call: ToolCall, at: number) =>
      this.#executeCall(call, {
        name: `call ${turn}.${at}`,
        index: at,
        fits: at < fitting,
        maxResultCharacters: longest,
        deadline,
        newOutcomes: fresh,
      })
    const begun = readSteadyTime(context.clock)
    try {
      const results: ToolCallRecord[] = []
      if (inputs.parallel) results.push(...(await settleAll(calls.map(executeOne))))
      else for (const [at, call] of calls.entries()) results.push(await executeOne(call, at))
      used.ms += Math.max(this.#totalMs(results), readSavedTime(context, name)) - before
      return results
    } catch (error) {
      const took = readSteadyTime(context.clock) - begun - deadline.suspendedMs
      await wasted.save({ use: null, ms: Math.max(0, took - Math.max(this.#totalMs(fresh), deadline.savedMs)) })
      throw deadline.isOver ? used.timeLimitError() : error
    }
  }

  /** How long calls of one turn took, in milliseconds. */
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
    // What it waits for people is no time of its own.
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
    { name, index: at, maxResultCharacters: longest, deadline: { signal } }: TurnCall,
    step: FiringStep,
  ): Promise<AgentToolResult> {
    const { context, tools } = this.#parts
    if (at >= MOST_CALLS) return { result: null, error: TOO_MANY }
    const { redact } = context.services
    const begins = async () => {
      signal.throwIfAborted()
      if (!context.findKept(begunMarkerKey(name))) await context.keep(begunMarkerKey(name), true)
    }
    return executeToolCall(tools, call, step, {
      args,
      maxResultCharacters: longest,
      redact,
      signal,
      recordBegin: begins,
    })
  }

  /** Its step ends as it begins: a process that dies leaves none behind that a later one would take for a call to go on with. */
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

/** Tells people who watch: nothing of arguments that are none. */
function publishCall(context: NodeContext, call: ToolCall, args: ParsedArguments): void {
  context.tool({ ...callIdentity(call), kind: 'call', arguments: 'given' in args ? args.given : {} })
}

function callIdentity({ id, name }: ToolCall): { readonly tool_call_id: string; readonly name: string } {
  return { tool_call_id: id, name }
}

/** Under which is kept that a call begins which must not be made twice. */
function begunMarkerKey(name: string): string {
  return `begun ${name}`
}

/**
 * Whether the call had begun in an attempt, or in a job, that is over, and did not come to its end: nothing else is known of it. One that was
 * interrupted goes on inside of it, where each node knows what it had begun.
 */
function isLostCall(context: NodeContext, name: string): boolean {
  return (
    context.findKept(begunMarkerKey(name)) !== null &&
    context.findKept(name) === null &&
    !context.isStepInterrupted(name)
  )
}

/** All of them, once each has settled; else what the first of them threw. */
async function settleAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
