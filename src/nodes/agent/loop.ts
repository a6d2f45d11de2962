// The loop of an agent: the model answers or calls tools, gets their results, and continues until it calls none. Each turn and each call is
// a step of the firing, so that a run that resumes repeats no finished step.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError, NonRetryableError } from '../../engine/node-api/node-error.ts'
import type { ModelMessage, ModelRequest } from '../../engine/node-api/services/models.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { buildConversation } from '../chat/conversation.ts'
import { inlineImages } from '../chat/image-inlining.ts'
import { buildChatBody, type SamplingInputs } from '../chat/model-calls.ts'
import { AgentDeadline, readSavedTime } from './deadline.ts'
import { ToolCallExecutor, type ToolCallInputs, type ToolCallRecord } from './tool-call-executor.ts'
import { type AgentTool, type AgentToolResult, loadAgentTools } from './tools.ts'
import { type AgentTurn, PublishedText, runTurn } from './turn.ts'
import { type AgentLimits, AgentUsage } from './usage-limits.ts'
import { WastedUsage } from './wasted-usage.ts'

export interface AgentInputs extends SamplingInputs, AgentLimits, ToolCallInputs {
  readonly tools: unknown[]
  readonly max_failures: number
}

const LAST_TURN = 'You have no turns left in which you could call tools. Answer now, with what you know.'

/** In characters. The whole conversation is sent with each turn. */
const LONGEST_AGENT_CONVERSATION = 16_000_000
// A function, because the first number that is formatted for a language takes long.
const tooLongMessage = () =>
  `The conversation of the agent has more than ${LONGEST_AGENT_CONVERSATION.toLocaleString('en')} characters. Lower max_result_characters.`

export async function* runAgent(
  inputs: AgentInputs,
  context: NodeContext,
): AsyncGenerator<OutputValues, OutputValues, unknown> {
  const tools = await loadAgentTools(inputs.tools, context)
  const agent = new AgentLoop(inputs, context, tools, await inlineImages(buildConversation(inputs), inputs, context))
  return yield* agent.run()
}

class AgentLoop {
  readonly #inputs: AgentInputs
  readonly #context: NodeContext
  readonly #tools: ReadonlyMap<string, AgentTool>
  readonly #messages: ModelMessage[]
  readonly #usage: AgentUsage
  readonly #wastedUsage: WastedUsage
  readonly #toolCalls: ToolCallExecutor
  readonly #publishedText: PublishedText
  /** The ids of all calls so far. */
  readonly #callIds = new Set<string>()
  readonly #steps: Record<string, unknown>[] = []
  /** In characters: texts, calls and results. */
  #length = 0
  /** Turns in a row in which every call failed. */
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
    this.#usage = new AgentUsage(inputs)
    this.#wastedUsage = new WastedUsage(context, this.#usage)
    this.#toolCalls = new ToolCallExecutor({
      inputs,
      context,
      tools,
      usage: this.#usage,
      wastedUsage: this.#wastedUsage,
    })
    this.#publishedText = new PublishedText(context.previousItems)
  }

  async *run(): AsyncGenerator<OutputValues, OutputValues, unknown> {
    for (;;) {
      // Remembered turns and calls never wait, so this line lets other work have its turn between them.
      await this.#context.inSlices(noWork())
      this.#wastedUsage.countNew()
      this.#usage.guardLimits()
      const turn = yield* this.#runTurn()
      if (turn.refusal !== '') throw new NodeError(`The model declines to answer: ${turn.refusal}`, 'refused')
      for (const { id } of turn.calls) this.#callIds.add(id)
      this.#messages.push(toMessage(turn))
      if (turn.calls.length === 0) return this.#outputs(turn)
      if (this.#isLastTurn)
        throw new NonRetryableError(
          `The agent called tools in each of its ${this.#usage.turns} turns.`,
          'too_many_steps',
        )
      const results = await this.#callTools(turn)
      for (const [at, { id }] of turn.calls.entries())
        this.#messages.push({ role: 'tool', tool_call_id: id, content: resultText(results[at]!) })
      this.#countFailures(results)
      this.#guardLength(turn, results)
    }
  }

  /** Whether the turn that ran last was the last one allowed. */
  get #isLastTurn(): boolean {
    return this.#usage.turns >= this.#inputs.max_steps
  }

  async *#runTurn(): AsyncGenerator<OutputValues, AgentTurn, unknown> {
    const { turns } = this.#usage
    const name = `turn ${turns}`
    const before = readSavedTime(this.#context, name)
    this.#usage.ms += before
    using deadline = new AgentDeadline(this.#context, name, this.#usage.msLeft)
    try {
      const parts = {
        name,
        buildBody: () => this.#buildBody(),
        tokensLeft: this.#usage.tokensLeft,
        publishedText: this.#publishedText,
        wastedUsage: this.#wastedUsage,
        usedCallIds: this.#callIds,
        deadline,
      }
      const turn = yield* runTurn(this.#context, parts)
      this.#usage.addTurn(turn.use)
      this.#usage.ms += Math.max(turn.ms, readSavedTime(this.#context, name)) - before
      const { text, calls, use, ms } = turn
      const tokens = use ? { input_tokens: use.input_tokens, output_tokens: use.output_tokens } : {}
      this.#steps.push({ type: 'turn', turn: turns, text, tool_calls: calls.map((call) => call.name), ...tokens, ms })
      return turn
    } catch (error) {
      throw deadline.isOver ? this.#usage.timeLimitError() : error
    }
  }

  #buildBody(): ModelRequest['body'] {
    const { max_steps, parallel } = this.#inputs
    const { turns } = this.#usage
    if (this.#tools.size === 0) return buildChatBody(this.#inputs, [...this.#messages])
    const tools = [...this.#tools.values()].map(({ name, description, parameters }) => ({
      type: 'function' as const,
      function: { name, description, parameters },
    }))
    const last = turns + 1 >= max_steps
    const note: ModelMessage[] = last && turns > 0 ? [{ role: 'user', content: LAST_TURN }] : []
    const messages = [...this.#messages, ...note]
    const choice = last ? { tool_choice: 'none' as const } : {}
    const side = parallel ? {} : { parallel_tool_calls: false }
    return buildChatBody(this.#inputs, messages, { tools: tools as never, ...choice, ...side })
  }

  async #callTools({ calls }: AgentTurn): Promise<ToolCallRecord[]> {
    const turn = this.#usage.turns - 1
    const results = await this.#toolCalls.execute(turn, calls)
    for (const { name, arguments: args, result, error, ms } of results)
      this.#steps.push({ type: 'tool', turn, name, arguments: args, result, error, ms })
    return results
  }

  #countFailures(results: readonly ToolCallRecord[]): void {
    const { max_failures } = this.#inputs
    this.#failures = results.every(({ error }) => error !== null) ? this.#failures + 1 : 0
    if (this.#failures < max_failures) return
    const times = this.#failures === 1 ? 'once' : `${this.#failures} times in a row`
    throw new NodeError(`The tools of the agent failed ${times}: ${results.at(-1)!.error}`, 'tool_failed')
  }

  #guardLength({ text }: AgentTurn, results: readonly ToolCallRecord[]): void {
    this.#length += text.length
    for (const call of results) this.#length += call.arguments.length + resultText(call).length
    if (this.#length > LONGEST_AGENT_CONVERSATION) throw new NonRetryableError(tooLongMessage(), 'too_large')
  }

  #outputs({ text, finish_reason }: AgentTurn): OutputValues {
    this.#context.chunk('', { done: true })
    const { input_tokens, output_tokens, turns, cost } = this.#usage
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

/** Does no work, so that `inSlices` only waits until the run has time. */
function* noWork(): Steps<void> {}

function toMessage({ text, calls }: AgentTurn): ModelMessage {
  if (calls.length === 0) return { role: 'assistant', content: text }
  const tool_calls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: args },
  }))
  return { role: 'assistant', content: text === '' ? null : text, tool_calls }
}

function resultText({ result, error }: AgentToolResult): string {
  return error === null ? (result ?? '') : `Error: ${error}`
}
