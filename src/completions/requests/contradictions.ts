// Refuses requests whose fields contradict each other. The schema cannot express these rules.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import { ServiceError } from '../../errors.ts'

/** @throws INVALID_REQUEST with the first contradictory field */
export function refuseContradictions(body: ChatCompletionRequest): void {
  const { max_tokens, max_completion_tokens: most, tools, functions } = body
  if (isPresent(max_tokens) && isPresent(most) && max_tokens !== most)
    throw createContradictionError('max_tokens', 'differs from max_completion_tokens; send one of them')
  if (isPresent(body.stream_options) && body.stream !== true)
    throw createContradictionError(
      'stream_options',
      'is only for answers that are streamed; send it with "stream": true',
    )
  if (isPresent(body.top_logprobs) && body.logprobs !== true)
    throw createContradictionError(
      'top_logprobs',
      'is only for answers with log probabilities; send it with "logprobs": true',
    )
  if (isPresent(tools) && isPresent(functions))
    throw createContradictionError('functions', 'is the old form of tools; send one of them')
  refuseToolChoices(body)
  refuseResponseFormat(body)
  refuseAudio(body)
  refuseStrayToolMessages(body.messages)
}

function refuseToolChoices({ tools, tool_choice, functions, function_call }: ChatCompletionRequest): void {
  if (isCallChosen(tool_choice) && !tools?.length)
    throw createContradictionError('tool_choice', 'needs tools; send tools, or leave this field out')
  if (isCallChosen(function_call) && !functions?.length)
    throw createContradictionError('function_call', 'needs functions; send functions, or leave this field out')
  const named = findToolName(tool_choice)
  if (named !== null && !tools?.some((tool) => findToolName(tool) === named))
    throw createContradictionError('tool_choice', 'names a tool that is not among the tools')
}

/** `none` needs no tools. */
function isCallChosen(choice: unknown): boolean {
  return isPresent(choice) && choice !== 'none'
}

/** The name of the function or the custom tool. */
function findToolName(value: unknown): string | null {
  const { function: named, custom } = (value ?? {}) as { function?: { name?: string }; custom?: { name?: string } }
  return named?.name ?? custom?.name ?? null
}

function refuseResponseFormat({ response_format: format }: ChatCompletionRequest): void {
  if (format?.type !== 'json_schema') return
  const { schema } = (format as { json_schema: { schema?: unknown } }).json_schema
  if (!isPresent(schema)) throw createContradictionError('response_format.json_schema.schema', 'is required')
}

function refuseAudio({ modalities, audio }: ChatCompletionRequest): void {
  const spoken = modalities?.includes('audio') ?? false
  if (spoken && !isPresent(audio)) throw createContradictionError('audio', 'is required with the modality "audio"')
  if (!spoken && isPresent(audio))
    throw createContradictionError('audio', 'is only for answers with the modality "audio"')
}

/** A tool message must answer a tool call of an earlier message. */
function refuseStrayToolMessages(messages: ChatCompletionRequest['messages']): void {
  const called = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) called.add(id)
    if (message.role === 'tool' && !called.has(message.tool_call_id))
      throw createContradictionError(`messages[${at}].tool_call_id`, 'matches no tool call of an earlier message')
  }
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}

function createContradictionError(param: string, message: string): ServiceError {
  const path = `/body/${param.replaceAll(/[[.]/g, '/').replaceAll(']', '')}`
  return new ServiceError('INVALID_REQUEST', { message: `${path}: ${message}`, param, problems: [{ path, message }] })
}
