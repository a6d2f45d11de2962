// One turn of an agent: what the model says and which tools it calls, as a step of the firing. What it says goes out as it comes.
import { readSteadyTime } from '../../engine/node-api/clock.ts'
import type {
  ModelMessage,
  ModelPart,
  ModelRequest,
  ModelToolCall,
  ModelUsage,
} from '../../engine/node-api/node-services.ts'
import type { NodeContext, OutputValues } from '../../engine/node-api/node-type.ts'
import { cryptoLibrary } from '../shared/lazy-libraries.ts'
import type { AgentDeadline } from './deadline.ts'
import type { ToolCall } from './tools.ts'
import type { WastedUsage } from './wasted-usage.ts'

/** What a turn came to: plain data, which is remembered. */
export interface AgentTurn {
  readonly text: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly use: ModelUsage | null
  readonly finish_reason: string | null
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** Between what is said in two turns. */
const TURN_SEPARATOR = '\n\n'
const CONTINUE_PROMPT =
  'Your message was cut off here. Go on exactly where it stopped: do not repeat anything of it, and say nothing about the interruption.'

/** All that the agent says, over its turns; what had gone out before an interruption does not go out again. */
export class PublishedText {
  readonly #alreadyPublished: string
  #length = 0
  #pending = false

  constructor(given: readonly OutputValues[]) {
    this.#alreadyPublished = given.map(({ text }) => text).join('')
  }

  /** A turn begins. */
  beginTurn(): void {
    this.#pending = this.#length > 0
  }

  /** What of the text has not gone out yet. */
  takeUnpublished(text: string): string {
    const turnText = this.#pending ? TURN_SEPARATOR + text : text
    this.#pending = false
    const unpublished = turnText.slice(Math.max(0, this.#alreadyPublished.length - this.#length))
    this.#length += turnText.length
    return unpublished
  }

  /** What had gone out of a turn that did not come to its end. */
  unfinishedTurnText(): string {
    const left = this.#alreadyPublished.slice(this.#length)
    return this.#pending ? left.slice(TURN_SEPARATOR.length) : left
  }
}

export interface AgentTurnParts {
  readonly name: string
  /** Makes what the model is sent. A turn that is remembered needs it not, and it may be long. */
  readonly buildBody: () => ModelRequest['body']
  /** The most tokens of the answer, or null for no limit of the agent's. */
  readonly tokensLeft: number | null
  readonly publishedText: PublishedText
  readonly wastedUsage: WastedUsage
  /** What no call of it may have as its id. */
  readonly usedCallIds: ReadonlySet<string>
  readonly deadline: AgentDeadline
}

/** Yields what is said, gives what the turn came to. A turn that was cut off goes on behind what had gone out of it. */
export async function* runTurn(
  context: NodeContext,
  {
    name,
    buildBody: body,
    tokensLeft: left,
    publishedText: speech,
    wastedUsage: wasted,
    usedCallIds: ids,
    deadline,
  }: AgentTurnParts,
): AsyncGenerator<OutputValues, AgentTurn, unknown> {
  using step = await context.step(name)
  speech.beginTurn()
  if (step.previousResult) {
    const turn = step.previousResult.value as AgentTurn
    yield* publishText(speech, turn.text)
    return turn
  }
  const { signal } = deadline
  signal.throwIfAborted()
  // Whatever cut it off, be it that it failed: nobody takes back what had gone out.
  const before = speech.unfinishedTurnText()
  if (step.wasInterrupted || before !== '')
    context.log('warning', 'A turn of the model was cut off. It is asked once more.')
  yield* publishText(speech, before)
  const { clock } = context
  const begun = readSteadyTime(clock)
  const gathered = new AnswerAssembler(before)
  let ended = false
  try {
    yield* streamModelAnswer(
      context,
      { body: continueBody(body(), before), left, signal, used: (use) => gathered.recordUse(use) },
      speech,
      gathered,
    )
    const turn = gathered.toTurn(readSteadyTime(clock) - begun, ids, (at) => createCallId(context.random(), name, at))
    await step.end(turn)
    ended = true
    return turn
  } finally {
    if (!ended)
      await wasted.save({ use: gathered.use, ms: Math.max(0, readSteadyTime(clock) - begun - deadline.savedMs) })
  }
}

/** Asks the model. Yields what it says, and gathers all that comes. */
async function* streamModelAnswer(
  context: NodeContext,
  request: ModelRequest,
  speech: PublishedText,
  gathered: AnswerAssembler,
): AsyncGenerator<OutputValues, void, unknown> {
  for await (const part of context.services.models.complete(request)) {
    if (part.type === 'text') {
      for (const item of publishText(speech, part.text)) {
        context.chunk(item.text)
        yield item
      }
    } else if (part.type === 'thinking') context.chunk(part.text, { thinking: true })
    gathered.add(part)
  }
}

function* publishText(speech: PublishedText, text: string): Generator<{ text: string }, void, unknown> {
  if (text === '') return
  const fresh = speech.takeUnpublished(text)
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

/** The parts of one answer, put together. */
class AnswerAssembler {
  #text: string
  #refusal = ''
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>()
  #end: Extract<ModelPart, { type: 'end' }> | null = null
  /** What is known of what the answer used, also where it breaks off. */
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

  /** Ids that a provider leaves out, or gives twice, are made here and remembered with the turn. `ids`: those of earlier turns. */
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

/**
 * No other call has it, of this agent or of another one: conversations are put together of what several made. A firing that goes on after an
 * interruption gets the same random numbers again, for other turns.
 */
function createCallId(random: number, turn: string, at: number): string {
  const digest = cryptoLibrary().createHash('sha256').update(`${random} ${turn} ${at}`).digest('hex')
  return `call_${digest.slice(0, 24)}`
}
