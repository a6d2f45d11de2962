// The command `inference`: a model continues a conversation of which nothing is stored. Its pieces and its one answer go to this socket alone.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { ChatCompletion, ChatCompletionRequest, InferenceChunkFrame } from '../../generated/types.ts'
import { modelOf } from '../chat/model-choice.ts'
import type { AnswerPart } from '../completions/answering.ts'
import { completionId, Joined, usageOf } from '../completions/assembling.ts'
import type { ModelUse } from '../engine/services.ts'
import { ServiceError } from '../errors.ts'
import { sendInSlices } from './large-frames.ts'
import type { Peer } from './peer.ts'

type Handler = WsCommandHandlers<Peer>['inference']
type Message = Parameters<Handler>[0]

/** That one connection may have under way at a time. */
const MOST_INFERENCES = 64

export const inference: Handler = async ({ data, request_id }, connection) => {
  const { asking, closed } = connection
  if (asking.inferences >= MOST_INFERENCES) {
    const message = `A socket has at most ${MOST_INFERENCES} inferences under way: let some end, or open another one.`
    throw new ServiceError('RATE_LIMITED', { message })
  }
  const result = await asking.infer((stop) => infer(data, request_id, connection, stop))
  if (!closed.aborted)
    await sendInSlices(connection, { type: 'rpc_response', request_id, command: 'inference', result })
}

async function infer(
  data: Message['data'],
  request_id: string,
  connection: Peer,
  stop: AbortSignal,
): Promise<ChatCompletion> {
  const { app, principal, closed } = connection
  const signal = AbortSignal.any([stop, closed])
  const answer = new Inferred(completionId(app.platform), Math.floor(app.platform.now() / 1_000), data.model)
  try {
    const model = await modelOf(data, principal, app, signal)
    answer.model = model
    const used = (use: ModelUse) => answer.used(use)
    for await (const part of app.completions.safeAnswer(principal, requestOf(data, model), { signal, used })) {
      const chunk = answer.take(part)
      if (chunk) connection.send({ type: 'chunk', request_id, ...chunk })
      // A peer that does not read is waited for, and its model with it.
      if (connection.congested) await connection.drained()
    }
  } catch (thrown) {
    // Whoever stops a model wants what it has said so far.
    if (!signal.aborted) throw thrown
  }
  return answer.completion()
}

function requestOf(data: Message['data'], model: string): ChatCompletionRequest {
  const { messages, tools, max_completion_tokens, temperature, seed } = data
  const given = Object.entries({ tools, max_completion_tokens, temperature, seed })
  const options = Object.fromEntries(given.filter(([, value]) => value !== undefined && value !== null))
  return { ...options, model, messages }
}

class Inferred {
  readonly #id: string
  readonly #created: number
  readonly #joined = new Joined()
  #usage = usageOf({ input_tokens: 0, output_tokens: 0 })
  #finish_reason = 'stop'
  /** As it was asked for, until it is known. */
  model: string

  constructor(id: string, created: number, asked: string | null | undefined) {
    this.#id = id
    this.#created = created
    this.model = asked || 'default'
  }

  used(use: ModelUse): void {
    this.#usage = usageOf(use)
    this.model = use.model
  }

  /** The piece that is new to its reader, or null. */
  take(part: AnswerPart): Omit<InferenceChunkFrame, 'type' | 'request_id'> | null {
    if (part.type === 'job') return null
    if (part.type === 'end') {
      this.used(part.use)
      this.#finish_reason = part.finish_reason
      return { content: '', content_type: 'text', done: true, thinking: false }
    }
    this.#joined.add(part)
    if (part.type === 'tool_call') return null
    return { content: part.text, content_type: 'text', done: false, thinking: part.type === 'thinking' }
  }

  completion(): ChatCompletion {
    const message = this.#joined.message()
    const choices = [{ index: 0, message, logprobs: null, finish_reason: this.#finish_reason }]
    const { model } = this
    return { id: this.#id, object: 'chat.completion', created: this.#created, model, choices, usage: this.#usage }
  }
}
