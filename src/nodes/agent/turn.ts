// One turn of an agent, as a step of the firing: the model's text and its tool calls. The text is streamed as the model writes it.
import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import type {
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelToolCall,
  ModelUsage,
} from '../../engine/node-api/services/models.ts'
import { createCallId } from './call-id.ts'
import type { AgentDeadline } from './deadline.ts'
import type { ToolCall } from './tools.ts'
import type { WastedUsage } from './wasted-usage.ts'

/** The result of a turn as plain data, which is remembered. */
export interface AgentTurn {
  readonly text: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly use: ModelUsage | null
  readonly finish_reason: string | null
  readonly ms: number
}

/** Stands between the texts of two turns. */
const TURN_SEPARATOR = '\n\n'
const CONTINUE_PROMPT =
  'Your message was cut off here. Go on exactly where it stopped: do not repeat anything of it, and say nothing about the interruption.'

/** All text of the agent over its turns. Text that was published before an interruption is not published again. */
export class PublishedText {
  readonly #alreadyPublished: string
  #length = 0
  #pending = false

  constructor(given: readonly OutputValues[]) {
    this.#alreadyPublished = given.map(({ text }) => text).join('')
  }

  beginTurn(): void {
    this.#pending = this.#length > 0
  }

  /** The part of the text that has not been published yet. */
  takeUnpublished(text: string): string {
    const turnText = this.#pending ? TURN_SEPARATOR + text : text
    this.#pending = false
    const unpublished = turnText.slice(Math.max(0, this.#alreadyPublished.length - this.#length))
    this.#length += turnText.length
    return unpublished
  }

  /** The text that an unfinished turn had published before an interruption. */
  unfinishedTurnText(): string {
    const left = this.#alreadyPublished.slice(this.#length)
    return this.#pending ? left.slice(TURN_SEPARATOR.length) : left
  }
}

export interface AgentTurnParts {
  readonly name: string
  /** Makes the request. It is a function because the request may be long, and a remembered turn does not need it. */
  readonly buildBody: () => ModelRequest['body']
  /** The most tokens of the answer, or null if the agent has no limit. */
  readonly tokensLeft: number | null
  readonly publishedText: PublishedText
  readonly wastedUsage: WastedUsage
  /** Ids that no call of this turn may have. */
  readonly usedCallIds: ReadonlySet<string>
  readonly deadline: AgentDeadline
}

/** Yields the text and returns the turn. An interrupted turn continues after the text that it had published. */
export async function* runTurn(
  context: NodeContext,
  { name, buildBody, tokensLeft, publishedText, wastedUsage, usedCallIds, deadline }: AgentTurnParts,
): AsyncGenerator<OutputValues, AgentTurn, unknown> {
  using step = await context.step(name)
  publishedText.beginTurn()
  if (step.previousResult) {
    const turn = step.previousResult.value as AgentTurn
    yield* publishText(publishedText, turn.text)
    return turn
  }
  const { signal } = deadline
  signal.throwIfAborted()
  // This holds for a failed turn as well: published text cannot be taken back.
  const before = publishedText.unfinishedTurnText()
  if (step.wasInterrupted || before !== '')
    context.log('warning', 'A turn of the model was interrupted. The model is called again.')
  yield* publishText(publishedText, before)
  const { clock } = context
  const begun = readSteadyTime(clock)
  const gathered = new AnswerAssembler(before)
  let ended = false
  try {
    yield* streamModelAnswer(
      context,
      { body: continueBody(buildBody(), before), left: tokensLeft, signal, used: (use) => gathered.recordUse(use) },
      publishedText,
      gathered,
    )
    const turn = gathered.toTurn(readSteadyTime(clock) - begun, usedCallIds, (at) =>
      createCallId(context.random(), name, at),
    )
    await step.end(turn)
    ended = true
    return turn
  } finally {
    if (!ended)
      await wastedUsage.save({ use: gathered.use, ms: Math.max(0, readSteadyTime(clock) - begun - deadline.savedMs) })
  }
}

/** Calls the model, yields its text, and gathers all parts. */
async function* streamModelAnswer(
  context: NodeContext,
  request: ModelRequest,
  publishedText: PublishedText,
  gathered: AnswerAssembler,
): AsyncGenerator<OutputValues, void, unknown> {
  for await (const part of context.services.models.complete(request)) {
    if (part.type === 'text') {
      for (const item of publishText(publishedText, part.text)) {
        context.chunk(item.text)
        yield item
      }
    } else if (part.type === 'thinking') context.chunk(part.text, { thinking: true })
    gathered.add(part)
  }
}

function* publishText(publishedText: PublishedText, text: string): Generator<{ text: string }, void, unknown> {
  if (text === '') return
  const fresh = publishedText.takeUnpublished(text)
  if (fresh !== '') yield { text: fresh }
}

function continueBody(body: ModelRequest['body'], before: string): ModelRequest['body'] {
  if (before === '') return body
  const more: ModelMessage[] = [
    { role: 'assistant', content: before },
    { role: 'user', content: CONTINUE_PROMPT },
  ]
  return { ...body, messages: [...body.messages, ...more] }
}

/** Assembles one answer from its parts. */
class AnswerAssembler {
  #text: string
  #refusal = ''
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>()
  #end: Extract<ModelPart, { type: 'end' }> | null = null
  /** The known usage of the answer, even if the answer breaks off. */
  use: ModelUsage | null = null

  constructor(before: string) {
    this.#text = before
  }

  add(part: ModelPart): void {
    if (part.type === 'text') this.#text += part.text
    else if (part.type === 'refusal') this.#refusal += part.text
    else if (part.type === 'tool_call') this.#addCall(part)
    else if (part.type === 'end') this.#end = part
  }

  recordUse(use: ModelUsage): void {
    this.use = use
  }

  #addCall({ index, id, name, arguments: text }: ModelToolCall): void {
    const call = this.#calls.get(index) ?? { id: '', name: '', arguments: '' }
    this.#calls.set(index, {
      id: call.id || (id ?? ''),
      name: call.name || (name ?? ''),
      arguments: call.arguments + text,
    })
  }

  /** Replaces ids that a provider omits or repeats; they are remembered with the turn. `ids`: the ids of earlier turns. */
  toTurn(ms: number, ids: ReadonlySet<string>, createId: (at: number) => string): AgentTurn {
    const taken = new Set(ids)
    const calls: ToolCall[] = []
    for (const [, call] of [...this.#calls].sort(([a], [b]) => a - b)) {
      const id = call.id === '' || taken.has(call.id) ? createId(calls.length) : call.id
      taken.add(id)
      calls.push({ ...call, id })
    }
    const { use = null, finish_reason = null } = this.#end ?? {}
    return { text: this.#text, refusal: this.#refusal, calls, use, finish_reason, ms }
  }
}
