// Flattens long answers and long chunks: joins values that a server may send as many parts into one text. Later
// normalization then handles only a few values.
import { stringifySteps } from '../../shared/incremental-json.ts'
import { isRecord } from '../../shared/record.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { isMissing, type JsonRecord, withFields, withItems } from '../json/values.ts'
import { flattenPartsSteps } from './completions.ts'
import { refuseTooManyChoices } from './tool-calls.ts'

/**
 * Joins content parts to one text, and encodes arguments that are values as text. Returns the same answer if it has
 * neither. `said` is the member of a choice with these fields.
 * @throws MalformedDataError if the answer has too many choices or tool calls
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
  const { content, tool_calls } = message
  const texts = {
    ...(Array.isArray(content) ? yield* flattenPartsSteps(content, message) : {}),
    ...(Array.isArray(tool_calls) ? { tool_calls: yield* withItemsSteps(tool_calls, flattenToolCallSteps) } : {}),
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
