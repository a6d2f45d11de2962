// Requests whose fields contradict each other, which no schema says: refused with the field that is to blame.
import type { ChatCompletionRequest } from '../../generated/types.ts'
import { ServiceError } from '../errors.ts'

/** @throws INVALID_REQUEST with the first field that cannot be meant */
export function refuseContradictions(body: ChatCompletionRequest): void {
  const { max_tokens, max_completion_tokens: most, tools, functions } = body
  if (isGiven(max_tokens) && isGiven(most) && max_tokens !== most)
    throw contradiction('max_tokens', 'differs from max_completion_tokens; send one of them')
  if (isGiven(body.stream_options) && body.stream !== true)
    throw contradiction('stream_options', 'is only for answers that are streamed; send it with "stream": true')
  if (isGiven(body.top_logprobs) && body.logprobs !== true)
    throw contradiction('top_logprobs', 'is only for answers with log probabilities; send it with "logprobs": true')
  if (isGiven(tools) && isGiven(functions))
    throw contradiction('functions', 'is the old form of tools; send one of them')
  refuseChoices(body)
  refuseFormat(body)
  refuseAudio(body)
  refuseStrayAnswers(body.messages)
}

function refuseChoices({ tools, tool_choice, functions, function_call }: ChatCompletionRequest): void {
  if (isChoice(tool_choice) && !tools?.length)
    throw contradiction('tool_choice', 'chooses among tools, and there are none')
  if (isChoice(function_call) && !functions?.length)
    throw contradiction('function_call', 'chooses among functions, and there are none')
  const named = nameOf(tool_choice)
  if (named !== null && !tools?.some((tool) => nameOf(tool) === named))
    throw contradiction('tool_choice', 'names a tool that is not among the tools')
}

/** To call nothing is what comes of having nothing to call. */
function isChoice(choice: unknown): boolean {
  return isGiven(choice) && choice !== 'none'
}

/** The function or the custom tool that something names. */
function nameOf(value: unknown): string | null {
  const { function: named, custom } = (value ?? {}) as { function?: { name?: string }; custom?: { name?: string } }
  return named?.name ?? custom?.name ?? null
}

function refuseFormat({ response_format: format }: ChatCompletionRequest): void {
  if (format?.type !== 'json_schema') return
  const { schema } = (format as { json_schema: { schema?: unknown } }).json_schema
  if (!isGiven(schema)) throw contradiction('response_format.json_schema.schema', 'is required')
}

function refuseAudio({ modalities, audio }: ChatCompletionRequest): void {
  const spoken = modalities?.includes('audio') ?? false
  if (spoken && !isGiven(audio)) throw contradiction('audio', 'is required where an answer shall be spoken')
  if (!spoken && isGiven(audio)) throw contradiction('audio', 'is only for answers with the modality "audio"')
}

/** What a tool answers, it answers to a call that was made before. */
function refuseStrayAnswers(messages: ChatCompletionRequest['messages']): void {
  const called = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) called.add(id)
    if (message.role === 'tool' && !called.has(message.tool_call_id))
      throw contradiction(`messages[${at}].tool_call_id`, 'answers no call of the messages before')
  }
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

function contradiction(param: string, message: string): ServiceError {
  const path = `/body/${param.replaceAll(/[[.]/g, '/').replaceAll(']', '')}`
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, param, problems: [{ path, message }] })
}
