// The choices in the chunks of a stream as servers leave them unfinished: without a number, or with texts in parts.
import { isRecord, type Json, withFields, withItems } from './json-values.ts'
import { joined } from './mended.ts'

/** The chunk itself where its choices lack nothing. */
export function mendedChunk(chunk: Json): Json {
  const { choices } = chunk
  return Array.isArray(choices) ? withFields(chunk, { choices: withItems(choices, mendedChoice) }) : chunk
}

function mendedChoice(choice: unknown, at: number): unknown {
  if (!isRecord(choice)) return choice
  const { index, delta } = choice
  const isNumbered = Number.isSafeInteger(index) && (index as number) >= 0
  return withFields(choice, {
    index: isNumbered ? index : at,
    ...(isRecord(delta) ? { delta: mendedDelta(delta) } : {}),
  })
}

function mendedDelta(delta: Json): Json {
  return Array.isArray(delta.content) ? withFields(delta, joined(delta.content, delta)) : delta
}

/** Why a choice ends of which this was told; null where that says nothing of it. */
export function finishIn(delta: unknown): string | null {
  if (!isRecord(delta)) return null
  if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) return 'tool_calls'
  return isRecord(delta.function_call) ? 'function_call' : null
}
