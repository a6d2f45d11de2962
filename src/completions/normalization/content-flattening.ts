// Long answers, and long chunks of one, with a text wherever a server may send many values in the place of one: so that whoever mends what else is wrong
// with them looks at a few values.
import { stringifySteps } from '../../shared/incremental-json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { isMissing, isRecord, type JsonRecord, withFields, withItems } from '../json/values.ts'
import { flattenPartsSteps } from './completions.ts'
import { refuseTooManyChoices } from './tool-calls.ts'

/**
 * With one text in the place of content in parts, and of arguments that are a value; the answer itself where it has neither. `said`: the member of a
 * choice that has them. @throws Malformed where it has more choices or calls than there may be
 */
export function* flattenContentSteps(given: JsonRecord, said: 'message' | 'delta'): Steps<JsonRecord> {
  const { choices } = given
  if (!Array.isArray(choices)) return given
  refuseTooManyChoices(choices, said)
  return withFields(given, { choices: yield* withItemsSteps(choices, (choice) => flattenChoiceSteps(choice, said)) })
}

function* flattenChoiceSteps(choice: unknown, said: 'message' | 'delta'): Steps<unknown> {
  const message = isRecord(choice) ? choice[said] : null
  if (!isRecord(choice) || !isRecord(message)) return choice
  const { content, tool_calls: calls } = message
  const texts = {
    ...(Array.isArray(content) ? yield* flattenPartsSteps(content, message) : {}),
    ...(Array.isArray(calls) ? { tool_calls: yield* withItemsSteps(calls, flattenToolCallSteps) } : {}),
  }
  return withFields(choice, { [said]: withFields(message, texts) })
}

function* flattenToolCallSteps(call: unknown): Steps<unknown> {
  if (!isRecord(call) || !isRecord(call.function)) return call
  const { arguments: given } = call.function
  if (typeof given === 'string' || isMissing(given)) return call
  return { ...call, function: { ...call.function, arguments: yield* stringifySteps(given) } }
}

function* withItemsSteps(given: unknown[], become: (item: unknown) => Steps<unknown>): Steps<unknown[]> {
  const items: unknown[] = []
  for (const item of given) items.push(yield* become(item))
  return withItems(given, (_, at) => items[at])
}
