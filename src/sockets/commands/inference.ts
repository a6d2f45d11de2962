// The command `inference`: a model continues a conversation that is not stored. Only this socket gets its chunks and answer.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import type { ChatCompletion, ChatCompletionRequest, InferenceChunkFrame } from '../../../generated/types.ts'
import { resolveModelName } from '../../chat/model-choice.ts'
import type { AnswerPart } from '../../completions/answers/generator.ts'
import { createCompletionId, MessageBuilder, toCompletionUsage } from '../../completions/answers/openai-format.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { ServiceError } from '../../errors.ts'
import { sendFrameInSlices } from '../frames/large-frames.ts'
import type { CommandConnection } from './command-connection.ts'

type InferenceHandler = WsCommandHandlers<CommandConnection>['inference']
type InferenceMessage = Parameters<InferenceHandler>[0]

/** Inferences that a connection can run at a time. */
const MAX_INFERENCES = 64

export const handleInference: InferenceHandler = async ({ data, request_id }, connection) => {
  const { inferences, closed } = connection
  if (inferences.active >= MAX_INFERENCES) {
    const message = `A socket can run at most ${MAX_INFERENCES} inferences at a time. Wait until some end, or open another socket.`
    throw new ServiceError('RATE_LIMITED', { message })
  }
  const result = await inferences.run((stop) => runInference(data, request_id, connection, stop))
  if (!closed.aborted)
    await sendFrameInSlices(connection, { type: 'rpc_response', request_id, command: 'inference', result })
}

async function runInference(
  data: InferenceMessage['data'],
  request_id: string,
  connection: CommandConnection,
  stop: AbortSignal,
): Promise<ChatCompletion> {
  const { app, principal, closed } = connection
  const signal = AbortSignal.any([stop, closed])
  const answer = new InferenceAnswer(
    createCompletionId(app.platform),
    Math.floor(app.platform.now() / 1_000),
    data.model,
  )
  try {
    const model = await resolveModelName(data, principal, app.models, signal)
    answer.model = model
    const used = (use: ModelUsage) => answer.setUsage(use)
    for await (const part of app.models.completions.redactedAnswer(principal, createCompletionRequest(data, model), {
      signal,
      used,
    })) {
      const chunk = answer.addPart(part)
      if (chunk) connection.send({ type: 'chunk', request_id, ...chunk })
      // Waits for a peer that does not read, and so pauses its model.
      if (connection.congested) await connection.drained()
    }
  } catch (thrown) {
    // A client that stops a model still gets the answer so far.
    if (!signal.aborted) throw thrown
  }
  return answer.completion()
}

function createCompletionRequest(data: InferenceMessage['data'], model: string): ChatCompletionRequest {
  const { messages, tools, max_completion_tokens, temperature, seed } = data
  const settings = Object.entries({ tools, max_completion_tokens, temperature, seed })
  const options = Object.fromEntries(settings.filter(([, value]) => value !== undefined && value !== null))
  return { ...options, model, messages }
}

class InferenceAnswer {
  readonly #id: string
  readonly #created: number
  readonly #joined = new MessageBuilder()
  #usage = toCompletionUsage({ input_tokens: 0, output_tokens: 0 })
  #finish_reason = 'stop'
  /** The requested model, until the actual model is known. */
  model: string

  constructor(id: string, created: number, requested_model: string | null | undefined) {
    this.#id = id
    this.#created = created
    this.model = requested_model || 'default'
  }

  setUsage(use: ModelUsage): void {
    this.#usage = toCompletionUsage(use)
    this.model = use.model
  }

  /** The new chunk for the client, or null. */
  addPart(part: AnswerPart): Omit<InferenceChunkFrame, 'type' | 'request_id'> | null {
    if (part.type === 'job') return null
    if (part.type === 'end') {
      this.setUsage(part.use)
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
