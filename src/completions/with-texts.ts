// Long answers, and long chunks of one, with a text wherever a server may send many values in the place of one: so that whoever mends what else is wrong
// with them looks at a few values.
import { jsonTextSteps } from '../json-steps.ts'
import type { Steps } from '../time-slices.ts'
import { isMissing, isRecord, type Json, withFields, withItems } from './json-values.ts'
import { joinedSteps } from './mended.ts'
import { guardAmount } from './mended-calls.ts'

/**
 * With one text in the place of content in parts, and of arguments that are a value; the answer itself where it has neither. `said`: the member of a
 * choice that has them. @throws Malformed where it has more choices or calls than there may be
 */
export function* withTexts(given: Json, said: 'message' | 'delta'): Steps<Json> {
  const { choices } = given
  if (!Array.isArray(choices)) return given
  guardAmount(choices, said)
  return withFields(given, { choices: yield* withItemSteps(choices, (choice) => choiceWithTexts(choice, said)) })
}

function* choiceWithTexts(choice: unknown, said: 'message' | 'delta'): Steps<unknown> {
  const message = isRecord(choice) ? choice[said] : null
  if (!isRecord(choice) || !isRecord(message)) return choice
  const { content, tool_calls: calls } = message
  const texts = {
    ...(Array.isArray(content) ? yield* joinedSteps(content, message) : {}),
    ...(Array.isArray(calls) ? { tool_calls: yield* withItemSteps(calls, callWithText) } : {}),
  }
  return withFields(choice, { [said]: withFields(message, texts) })
}

function* callWithText(call: unknown): Steps<unknown> {
  if (!isRecord(call) || !isRecord(call.function)) return call
  const { arguments: given } = call.function
  if (typeof given === 'string' || isMissing(given)) return call
  return { ...call, function: { ...call.function, arguments: yield* jsonTextSteps(given) } }
}

function* withItemSteps(given: unknown[], become: (item: unknown) => Steps<unknown>): Steps<unknown[]> {
  const items: unknown[] = []
  for (const item of given) items.push(yield* become(item))
  return withItems(given, (_, at) => items[at])
}
