// The loop of an agent: the model says something or calls tools, gets their results, and goes on until it calls none. Each turn and each call
// is a step of the firing, so that a run that goes on after an interruption does none of them again that had ended.
import { Final, type NodeContext, NodeError, type Outputs } from '../engine/node-type.ts'
import type { ModelMessage, ModelRequest } from '../engine/services.ts'
import type { Steps } from '../time-slices.ts'
import { type CallInputs, type CallStep, ToolCalls } from './agent-calls.ts'
import { type Limits, Used } from './agent-limits.ts'
import { Deadline, keptTime } from './agent-time.ts'
import { type AgentTool, agentTools, type ToolResult } from './agent-tools.ts'
import { Speech, type Turn, turnOf } from './agent-turn.ts'
import { Wasted } from './agent-wasted.ts'
import { bodyOf, type Sampling } from './chat-calls.ts'
import { illustrated } from './chat-images.ts'
import { conversation } from './chat-messages.ts'

export interface AgentInputs extends Sampling, Limits, CallInputs {
  readonly tools: unknown[]
  readonly max_failures: number
}

const LAST_TURN = 'You have no turns left in which you could call tools. Answer now, with what you know.'

/** In characters: all of it is sent with each turn. */
const LONGEST = 16_000_000
// Written when it is needed: the first number of a language takes long to write.
const tooLong = () =>
  `The conversation of the agent has more than ${LONGEST.toLocaleString('en')} characters. Lower max_result_characters.`

export async function* runAgent(inputs: AgentInputs, context: NodeContext): AsyncGenerator<Outputs, Outputs, unknown> {
  const tools = await agentTools(inputs.tools, context)
  const agent = new Agent(inputs, context, tools, await illustrated(conversation(inputs), inputs, context))
  return yield* agent.run()
}

class Agent {
  readonly #inputs: AgentInputs
  readonly #context: NodeContext
  readonly #tools: ReadonlyMap<string, AgentTool>
  readonly #messages: ModelMessage[]
  readonly #used: Used
  readonly #wasted: Wasted
  readonly #calls: ToolCalls
  readonly #speech: Speech
  /** Those of all calls so far. */
  readonly #ids = new Set<string>()
  readonly #steps: Record<string, unknown>[] = []
  /** Characters of what was said and called, and of the results. */
  #length = 0
  /** Turns in a row all of whose calls failed. */
  #failures = 0

  constructor(
    inputs: AgentInputs,
    context: NodeContext,
    tools: ReadonlyMap<string, AgentTool>,
    messages: ModelMessage[],
  ) {
    this.#inputs = inputs
    this.#context = context
    this.#tools = tools
    this.#messages = messages
    this.#used = new Used(inputs)
    this.#wasted = new Wasted(context, this.#used)
    this.#calls = new ToolCalls({ inputs, context, tools, used: this.#used, wasted: this.#wasted })
    this.#speech = new Speech(context.given)
  }

  async *run(): AsyncGenerator<Outputs, Outputs, unknown> {
    for (;;) {
      // Turns and calls that are remembered wait for nothing. However many there are, others have their turn between them.
      await this.#context.inSlices(nothing())
      this.#wasted.count()
      this.#used.check()
      const turn = yield* this.#turn()
      if (turn.refusal !== '') throw new NodeError(`The model declines to answer: ${turn.refusal}`, 'refused')
      for (const { id } of turn.calls) this.#ids.add(id)
      this.#messages.push(messageOf(turn))
      if (turn.calls.length === 0) return this.#outputs(turn)
      if (this.#last)
        throw new Final(`The agent called tools in each of its ${this.#used.turns} turns.`, 'too_many_steps')
      const results = await this.#call(turn)
      for (const [at, { id }] of turn.calls.entries())
        this.#messages.push({ role: 'tool', tool_call_id: id, content: textOf(results[at]!) })
      this.#judge(results)
      this.#measure(turn, results)
    }
  }

  /** Whether the turn that was made last was the last one of all. */
  get #last(): boolean {
    return this.#used.turns >= this.#inputs.max_steps
  }

  async *#turn(): AsyncGenerator<Outputs, Turn, unknown> {
    const { turns } = this.#used
    const name = `turn ${turns}`
    const before = keptTime(this.#context, name)
    this.#used.ms += before
    using deadline = new Deadline(this.#context, name, this.#used.msLeft)
    try {
      const { left } = this.#used
      const [speech, wasted, ids] = [this.#speech, this.#wasted, this.#ids]
      const parts = { name, body: () => this.#body(), left, speech, wasted, ids, deadline }
      const turn = yield* turnOf(this.#context, parts)
      this.#used.add(turn.use)
      this.#used.ms += Math.max(turn.ms, keptTime(this.#context, name)) - before
      const { text, calls, use, ms } = turn
      const tokens = use ? { input_tokens: use.input_tokens, output_tokens: use.output_tokens } : {}
      this.#steps.push({ type: 'turn', turn: turns, text, tool_calls: calls.map((call) => call.name), ...tokens, ms })
      return turn
    } catch (error) {
      throw deadline.over ? this.#used.late() : error
    }
  }

  #body(): ModelRequest['body'] {
    const { max_steps, parallel } = this.#inputs
    const { turns } = this.#used
    if (this.#tools.size === 0) return bodyOf(this.#inputs, [...this.#messages])
    const tools = [...this.#tools.values()].map(({ name, description, parameters }) => ({
      type: 'function' as const,
      function: { name, description, parameters },
    }))
    const last = turns + 1 >= max_steps
    const note: ModelMessage[] = last && turns > 0 ? [{ role: 'user', content: LAST_TURN }] : []
    const messages = [...this.#messages, ...note]
    const choice = last ? { tool_choice: 'none' as const } : {}
    const side = parallel ? {} : { parallel_tool_calls: false }
    return bodyOf(this.#inputs, messages, { tools: tools as never, ...choice, ...side })
  }

  async #call({ calls }: Turn): Promise<CallStep[]> {
    const turn = this.#used.turns - 1
    const results = await this.#calls.make(turn, calls)
    for (const { name, arguments: args, result, error, ms } of results)
      this.#steps.push({ type: 'tool', turn, name, arguments: args, result, error, ms })
    return results
  }

  #judge(results: readonly CallStep[]): void {
    const { max_failures } = this.#inputs
    this.#failures = results.every(({ error }) => error !== null) ? this.#failures + 1 : 0
    if (this.#failures < max_failures) return
    const times = this.#failures === 1 ? 'once' : `${this.#failures} times in a row`
    throw new NodeError(`The tools of the agent failed ${times}: ${results.at(-1)!.error}`, 'tool_failed')
  }

  #measure({ text }: Turn, results: readonly CallStep[]): void {
    this.#length += text.length
    for (const call of results) this.#length += call.arguments.length + textOf(call).length
    if (this.#length > LONGEST) throw new Final(tooLong(), 'too_large')
  }

  #outputs({ text, finish_reason }: Turn): Outputs {
    this.#context.chunk('', { done: true })
    const { input_tokens, output_tokens, turns, cost } = this.#used
    const usage = {
      model: this.#inputs.model,
      turns,
      input_tokens,
      output_tokens,
      total_tokens: input_tokens + output_tokens,
      cost: cost?.amount ?? null,
      currency: cost?.currency ?? null,
      finish_reason,
    }
    return { answer: text, messages: this.#messages, steps: this.#steps, usage }
  }
}

/** No work: in slices it only waits until the run has time. */
function* nothing(): Steps<void> {}

function messageOf({ text, calls }: Turn): ModelMessage {
  if (calls.length === 0) return { role: 'assistant', content: text }
  const tool_calls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: args },
  }))
  return { role: 'assistant', content: text === '' ? null : text, tool_calls }
}

function textOf({ result, error }: ToolResult): string {
  return error === null ? (result ?? '') : `Error: ${error}`
}
