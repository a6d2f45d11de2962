// The calls of tools that an agent's model makes in one turn: each is a step, none that had ended is made again, and neither is one that began
// in an attempt before this one and may have taken effect.
import { steadyTime } from '../engine/clock.ts'
import type { NodeContext, Step } from '../engine/node-type.ts'
import { argumentsTooLong, fittingCalls } from '../json.ts'
import type { Used } from './agent-limits.ts'
import { Deadline, keptTime } from './agent-time.ts'
import {
  type AgentTool,
  type Arguments,
  argumentsOf,
  LOST,
  resultOf,
  type ToolCall,
  type ToolResult,
} from './agent-tools.ts'
import type { Wasted } from './agent-wasted.ts'

/** Calls of one turn beyond these are refused: no honest one has more. */
const MOST_CALLS = 64
const TOO_MANY = `At most ${MOST_CALLS} calls are carried out in one turn.`

/** Characters of the results of one turn: they are sent together. */
const LONGEST_RESULTS = 4_000_000

export interface CallInputs {
  readonly parallel: boolean
  readonly max_result_characters: number
}

/** What a call came to: plain data, which is remembered. */
interface Called extends ToolResult {
  readonly ms: number
}

export type CallStep = ToolCall & Called

export interface CallsParts {
  readonly inputs: CallInputs
  readonly context: NodeContext
  readonly tools: ReadonlyMap<string, AgentTool>
  readonly used: Used
  readonly wasted: Wasted
}

/** One call of a turn. */
interface Place {
  /** Of its step. */
  readonly name: string
  /** Which of the calls of its turn it is. */
  readonly at: number
  /** Whether there is room for its arguments, and for those of the calls before it. */
  readonly fits: boolean
  /** The most characters of its result. */
  readonly longest: number
  readonly deadline: Deadline
  /** Takes what it came to, where it was made just now. */
  readonly fresh: Called[]
}

export class ToolCalls {
  readonly #parts: CallsParts

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  /** Carries out the calls of a turn, side by side unless that is not wanted. @throws Final where the agent's time is over */
  async make(turn: number, calls: readonly ToolCall[]): Promise<CallStep[]> {
    const { inputs, context, used, wasted } = this.#parts
    const name = `calls ${turn}`
    const before = keptTime(context, name)
    used.ms += before
    using deadline = new Deadline(context, name, used.msLeft)
    const fresh: Called[] = []
    const fitting = fittingCalls(calls.map((call) => call.arguments))
    const longest = Math.min(
      inputs.max_result_characters,
      Math.floor(LONGEST_RESULTS / Math.min(calls.length, MOST_CALLS)),
    )
    const one = (call: ToolCall, at: number) =>
      this.#make(call, { name: `call ${turn}.${at}`, at, fits: at < fitting, longest, deadline, fresh })
    const begun = steadyTime(context.clock)
    try {
      const results: CallStep[] = []
      if (inputs.parallel) results.push(...(await allSettled(calls.map(one))))
      else for (const [at, call] of calls.entries()) results.push(await one(call, at))
      used.ms += Math.max(this.#together(results), keptTime(context, name)) - before
      return results
    } catch (error) {
      const took = steadyTime(context.clock) - begun - deadline.rested
      await wasted.keep({ use: null, ms: Math.max(0, took - Math.max(this.#together(fresh), deadline.kept)) })
      throw deadline.over ? used.late() : error
    }
  }

  /** How long calls of one turn took, in milliseconds. */
  #together(calls: readonly Called[]): number {
    const all = calls.map(({ ms }) => ms)
    return this.#parts.inputs.parallel ? Math.max(0, ...all) : all.reduce((sum, ms) => sum + ms, 0)
  }

  async #make(call: ToolCall, place: Place): Promise<CallStep> {
    const { context } = this.#parts
    context.signal.throwIfAborted()
    if (isLost(context, place.name)) return this.#lost(call, place)
    using step = await context.step(place.name)
    if (step.known) return { ...call, ...(step.known.value as Called) }
    place.deadline.signal.throwIfAborted()
    const args = readOf(call, place)
    tellCall(context, call, args)
    // What it waits for people is no time of its own.
    const time = () => steadyTime(context.clock) - place.deadline.rested
    const begun = time()
    const outcome = await this.#outcome(call, args, place, step)
    const called: Called = { ...outcome, ms: Math.max(0, time() - begun) }
    await step.end(called)
    place.fresh.push(called)
    context.tool({ ...toldOf(call), kind: 'result', ...outcome })
    return { ...call, ...called }
  }

  async #outcome(
    call: ToolCall,
    args: Arguments,
    { name, at, longest, deadline: { signal } }: Place,
    step: Step,
  ): Promise<ToolResult> {
    const { context, tools } = this.#parts
    if (at >= MOST_CALLS) return { result: null, error: TOO_MANY }
    const { redact } = context.services
    const begins = async () => {
      signal.throwIfAborted()
      if (!context.kept(markOf(name))) await context.keep(markOf(name), true)
    }
    return resultOf(tools, call, step, { args, longest, redact, signal, begins })
  }

  /** Its step ends as it begins: a process that dies leaves none behind that a later one would take for a call to go on with. */
  async #lost(call: ToolCall, place: Place): Promise<CallStep> {
    const { context } = this.#parts
    tellCall(context, call, readOf(call, place))
    await context.keep(place.name, { ...LOST, ms: 0 } satisfies Called)
    context.tool({ ...toldOf(call), kind: 'result', ...LOST })
    return { ...call, ...LOST, ms: 0 }
  }
}

function readOf(call: ToolCall, { fits }: Place): Arguments {
  return fits ? argumentsOf(call) : { error: argumentsTooLong() }
}

/** Tells people who watch: nothing of arguments that are none. */
function tellCall(context: NodeContext, call: ToolCall, args: Arguments): void {
  context.tool({ ...toldOf(call), kind: 'call', arguments: 'given' in args ? args.given : {} })
}

function toldOf({ id, name }: ToolCall): { readonly tool_call_id: string; readonly name: string } {
  return { tool_call_id: id, name }
}

/** Under which is kept that a call begins which must not be made twice. */
function markOf(name: string): string {
  return `begun ${name}`
}

/**
 * Whether the call had begun in an attempt, or in a job, that is over, and did not come to its end: nothing else is known of it. One that was
 * interrupted goes on inside of it, where each node knows what it had begun.
 */
function isLost(context: NodeContext, name: string): boolean {
  return context.kept(markOf(name)) !== null && context.kept(name) === null && !context.interrupted(name)
}

/** All of them, once each has settled; else what the first of them threw. */
async function allSettled<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
