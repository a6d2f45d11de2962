// Whole completions as servers leave them unfinished: what the contract requires and they leave out, or leave empty, is filled in. A completion
// without choices, or with a choice that has no message, is none.
import { Malformed } from '../models/checked.ts'
import type { Platform } from '../platform.ts'
import { finish, mapStep, type Steps } from '../time-slices.ts'
import { completionId } from './assembling.ts'
import { isMissing, isRecord, isText, type Json, withFields, withItems } from './json-values.ts'
import { guardAmount, mendedCall } from './mended-calls.ts'

export interface Mending {
  readonly platform: Pick<Platform, 'id' | 'now'>
  /** The id of the model that was asked. */
  readonly model: string
}

/** The completion itself where it lacks nothing. @throws Malformed */
export function mendedCompletion(given: Json, { platform, model }: Mending): Json {
  const { id, object, created, choices } = given
  if (!isMissing(object) && object !== 'chat.completion') throw new Malformed('an answer that is no completion')
  if (!Array.isArray(choices) || choices.length === 0) throw new Malformed('a completion without choices')
  guardAmount(choices, 'message')
  return withFields(given, {
    id: isText(id) ? id : completionId(platform),
    object: 'chat.completion',
    created: secondsOf(created) ?? Math.floor(platform.now() / 1_000),
    model: isText(given.model) ? given.model : model,
    choices: withItems(choices, (choice, at) => mendedChoice(choice, at, platform)),
  })
}

/** The messages of a completion that can be mended. */
export function messagesOf({ choices }: Json): Json[] {
  return (choices as { message: Json }[]).map(({ message }) => message)
}

/** Null where it is none. Some count parts of seconds. */
function secondsOf(created: unknown): number | null {
  return typeof created === 'number' && created >= 0 && created <= Number.MAX_SAFE_INTEGER ? Math.floor(created) : null
}

function mendedChoice(choice: unknown, at: number, platform: Mending['platform']): Json {
  if (!isRecord(choice) || !isRecord(choice.message)) throw new Malformed('a choice that is none')
  const { index, finish_reason: finish } = choice
  const message = mendedMessage(choice.message, platform)
  return withFields(choice, {
    index: Number.isSafeInteger(index) && (index as number) >= 0 ? index : at,
    message,
    finish_reason: isText(finish) ? finish : finishOf(message),
  })
}

function finishOf({ tool_calls, function_call }: Json): string {
  if (Array.isArray(tool_calls) && tool_calls.length > 0) return 'tool_calls'
  return isRecord(function_call) ? 'function_call' : 'stop'
}

function mendedMessage(message: Json, platform: Mending['platform']): Json {
  const { role, content = null, tool_calls: calls } = message
  if (!isMissing(role) && role !== 'assistant') throw new Malformed('a message of somebody else')
  if (content !== null && typeof content !== 'string' && !Array.isArray(content))
    throw new Malformed('a message that is none')
  return withFields(message, {
    role: 'assistant',
    ...(Array.isArray(content) ? joined(content, message) : { content }),
    ...(Array.isArray(calls) ? { tool_calls: withItems(calls, (call) => mendedCall(call, platform)) } : {}),
  })
}

/** What parts say as one text, and what they think as another, where the message does not say that elsewhere. */
export function joined(parts: readonly unknown[], message: Json): Json {
  return finish(joinedSteps(parts, message))
}

/** The same in steps. */
export function* joinedSteps(parts: readonly unknown[], { reasoning_content, reasoning }: Json): Steps<Json> {
  const content = yield* textsIn(parts)
  let thoughts = ''
  for (const part of parts) if (isRecord(part) && part.thinking) thoughts += yield* textsIn(part.thinking)
  const isTold = thoughts === '' || !isMissing(reasoning_content ?? reasoning)
  return { content, ...(isTold ? {} : { reasoning_content: thoughts }) }
}

/** A text, or those of a list of parts. */
function* textsIn(given: unknown): Steps<string> {
  if (typeof given === 'string') return given
  if (!Array.isArray(given)) return ''
  const textOf = (part: unknown) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')
  return (yield* mapStep(given, textOf)).join('')
}
