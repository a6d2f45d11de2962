// One turn of an agent: what the model says and which tools it calls, as a step of the firing. What it says goes out as it comes.
import { steadyTime } from '../engine/clock.ts'
import type { NodeContext, Outputs } from '../engine/node-type.ts'
import type { ModelMessage, ModelPart, ModelRequest, ModelToolCall, ModelUse } from '../engine/services.ts'
import type { Deadline } from './agent-time.ts'
import type { ToolCall } from './agent-tools.ts'
import type { Wasted } from './agent-wasted.ts'
import { cryptoLibrary } from './libraries.ts'

/** What a turn came to: plain data, which is remembered. */
export interface Turn {
  readonly text: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly use: ModelUse | null
  readonly finish_reason: string | null
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** Between what is said in two turns. */
const PAUSE = '\n\n'
const CUT_OFF =
  'Your message was cut off here. Go on exactly where it stopped: do not repeat anything of it, and say nothing about the interruption.'

/** All that the agent says, over its turns; what had gone out before an interruption does not go out again. */
export class Speech {
  readonly #given: string
  #length = 0
  #pending = false

  constructor(given: readonly Outputs[]) {
    this.#given = given.map(({ text }) => text).join('')
  }

  /** A turn begins. */
  begin(): void {
    this.#pending = this.#length > 0
  }

  /** What of the text has not gone out yet. */
  take(text: string): string {
    const said = this.#pending ? PAUSE + text : text
    this.#pending = false
    const fresh = said.slice(Math.max(0, this.#given.length - this.#length))
    this.#length += said.length
    return fresh
  }

  /** What had gone out of a turn that did not come to its end. */
  left(): string {
    const left = this.#given.slice(this.#length)
    return this.#pending ? left.slice(PAUSE.length) : left
  }
}

export interface TurnParts {
  readonly name: string
  /** Makes what the model is sent. A turn that is remembered needs it not, and it may be long. */
  readonly body: () => ModelRequest['body']
  /** The most tokens of the answer, or null for no limit of the agent's. */
  readonly left: number | null
  readonly speech: Speech
  readonly wasted: Wasted
  /** What no call of it may have as its id. */
  readonly ids: ReadonlySet<string>
  readonly deadline: Deadline
}

/** Yields what is said, gives what the turn came to. A turn that was cut off goes on behind what had gone out of it. */
export async function* turnOf(
  context: NodeContext,
  { name, body, left, speech, wasted, ids, deadline }: TurnParts,
): AsyncGenerator<Outputs, Turn, unknown> {
  using step = await context.step(name)
  speech.begin()
  if (step.known) {
    const turn = step.known.value as Turn
    yield* said(speech, turn.text)
    return turn
  }
  const { signal } = deadline
  signal.throwIfAborted()
  // Whatever cut it off, be it that it failed: nobody takes back what had gone out.
  const before = speech.left()
  if (step.interrupted || before !== '')
    context.log('warning', 'A turn of the model was cut off. It is asked once more.')
  yield* said(speech, before)
  const { clock } = context
  const begun = steadyTime(clock)
  const gathered = new Gathered(before)
  let ended = false
  try {
    yield* asked(
      context,
      { body: goingOn(body(), before), left, signal, used: (use) => gathered.used(use) },
      speech,
      gathered,
    )
    const turn = gathered.turn(steadyTime(clock) - begun, ids, (at) => callId(context.random(), name, at))
    await step.end(turn)
    ended = true
    return turn
  } finally {
    if (!ended) await wasted.keep({ use: gathered.use, ms: Math.max(0, steadyTime(clock) - begun - deadline.kept) })
  }
}

/** Asks the model. Yields what it says, and gathers all that comes. */
async function* asked(
  context: NodeContext,
  request: ModelRequest,
  speech: Speech,
  gathered: Gathered,
): AsyncGenerator<Outputs, void, unknown> {
  for await (const part of context.services.models.complete(request)) {
    if (part.type === 'text') {
      for (const item of said(speech, part.text)) {
        context.chunk(item.text)
        yield item
      }
    } else if (part.type === 'thinking') context.chunk(part.text, { thinking: true })
    gathered.add(part)
  }
}

function* said(speech: Speech, text: string): Generator<{ text: string }, void, unknown> {
  if (text === '') return
  const fresh = speech.take(text)
  if (fresh !== '') yield { text: fresh }
}

function goingOn(body: ModelRequest['body'], before: string): ModelRequest['body'] {
  if (before === '') return body
  const more: ModelMessage[] = [
    { role: 'assistant', content: before },
    { role: 'user', content: CUT_OFF },
  ]
  return { ...body, messages: [...body.messages, ...more] }
}

/** The parts of one answer, put together. */
class Gathered {
  #text: string
  #refusal = ''
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>()
  #end: Extract<ModelPart, { type: 'end' }> | null = null
  /** What is known of what the answer used, also where it breaks off. */
  use: ModelUse | null = null

  constructor(before: string) {
    this.#text = before
  }

  add(part: ModelPart): void {
    if (part.type === 'text') this.#text += part.text
    else if (part.type === 'refusal') this.#refusal += part.text
    else if (part.type === 'tool_call') this.#addCall(part)
    else if (part.type === 'end') this.#end = part
  }

  used(use: ModelUse): void {
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
  turn(ms: number, ids: ReadonlySet<string>, madeUp: (at: number) => string): Turn {
    const taken = new Set(ids)
    const calls: ToolCall[] = []
    for (const [, call] of [...this.#calls].sort(([a], [b]) => a - b)) {
      const id = call.id === '' || taken.has(call.id) ? madeUp(calls.length) : call.id
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
function callId(random: number, turn: string, at: number): string {
  const digest = cryptoLibrary().createHash('sha256').update(`${random} ${turn} ${at}`).digest('hex')
  return `call_${digest.slice(0, 24)}`
}
