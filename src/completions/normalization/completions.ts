// Completes completions of servers: adds the fields that the contract requires and the server omitted or left empty. A
// completion without choices, or with a choice that has no message, is invalid.
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { Platform } from '../../platform.ts'
import { isRecord } from '../../shared/record.ts'
import { mapSteps, runToCompletion, type Steps } from '../../shared/time-slices.ts'
import { createCompletionId } from '../answers/openai-format.ts'
import { isMissing, isNonEmptyText, type JsonRecord, withFields, withItems } from '../json/values.ts'
import { normalizeToolCall, refuseTooManyChoices } from './tool-calls.ts'

export interface NormalizationContext {
  readonly platform: Pick<Platform, 'id' | 'now'>
  /** The id of the requested model. */
  readonly model: string
}

/** Returns the same completion if no field is missing. @throws MalformedDataError */
export function normalizeCompletion(given: JsonRecord, { platform, model }: NormalizationContext): JsonRecord {
  const { id, object, created, choices } = given
  if (!isMissing(object) && object !== 'chat.completion')
    throw new MalformedDataError('an answer that is not a completion')
  if (!Array.isArray(choices) || choices.length === 0) throw new MalformedDataError('a completion without choices')
  refuseTooManyChoices(choices, 'message')
  return withFields(given, {
    id: isNonEmptyText(id) ? id : createCompletionId(platform),
    object: 'chat.completion',
    created: parseCreated(created) ?? Math.floor(platform.now() / 1_000),
    model: isNonEmptyText(given.model) ? given.model : model,
    choices: withItems(choices, (choice, at) => normalizeChoice(choice, at, platform)),
  })
}

/** The messages of a completion that `normalizeCompletion` accepted. */
export function listMessages({ choices }: JsonRecord): JsonRecord[] {
  return (choices as { message: JsonRecord }[]).map(({ message }) => message)
}

/** Null if the value is not a time. Some servers send fractions of seconds. */
function parseCreated(created: unknown): number | null {
  return typeof created === 'number' && created >= 0 && created <= Number.MAX_SAFE_INTEGER ? Math.floor(created) : null
}

function normalizeChoice(choice: unknown, at: number, platform: NormalizationContext['platform']): JsonRecord {
  if (!isRecord(choice) || !isRecord(choice.message)) throw new MalformedDataError('a choice without a message')
  const { index, finish_reason: finish } = choice
  const message = normalizeMessage(choice.message, platform)
  return withFields(choice, {
    index: Number.isSafeInteger(index) && (index as number) >= 0 ? index : at,
    message,
    finish_reason: isNonEmptyText(finish) ? finish : inferMessageFinish(message),
  })
}

function inferMessageFinish({ tool_calls, function_call }: JsonRecord): string {
  if (Array.isArray(tool_calls) && tool_calls.length > 0) return 'tool_calls'
  return isRecord(function_call) ? 'function_call' : 'stop'
}

function normalizeMessage(message: JsonRecord, platform: NormalizationContext['platform']): JsonRecord {
  const { role, content = null, tool_calls } = message
  if (!isMissing(role) && role !== 'assistant') throw new MalformedDataError('a message whose role is not "assistant"')
  if (content !== null && typeof content !== 'string' && !Array.isArray(content))
    throw new MalformedDataError('a message with invalid content')
  return withFields(message, {
    role: 'assistant',
    ...(Array.isArray(content) ? flattenParts(content, message) : { content }),
    ...(Array.isArray(tool_calls)
      ? { tool_calls: withItems(tool_calls, (call) => normalizeToolCall(call, platform)) }
      : {}),
  })
}

/** Joins the text of content parts, and their thoughts if the message has no other reasoning. */
export function flattenParts(parts: readonly unknown[], message: JsonRecord): JsonRecord {
  return runToCompletion(flattenPartsSteps(parts, message))
}

/** Does the same in steps. */
export function* flattenPartsSteps(
  parts: readonly unknown[],
  { reasoning_content, reasoning }: JsonRecord,
): Steps<JsonRecord> {
  const content = yield* joinTextsSteps(parts)
  let thoughts = ''
  for (const part of parts) if (isRecord(part) && part.thinking) thoughts += yield* joinTextsSteps(part.thinking)
  const isTold = thoughts === '' || !isMissing(reasoning_content ?? reasoning)
  return { content, ...(isTold ? {} : { reasoning_content: thoughts }) }
}

/** Accepts a string or a list of parts. */
function* joinTextsSteps(given: unknown): Steps<string> {
  if (typeof given === 'string') return given
  if (!Array.isArray(given)) return ''
  const textOf = (part: unknown) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')
  return (yield* mapSteps(given, textOf)).join('')
}
