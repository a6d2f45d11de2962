// Completes the choices of streamed chunks: some servers omit the index, or send texts in parts.

import { isRecord } from '../../shared/record.ts'
import { type JsonRecord, withFields, withItems } from '../json/values.ts'
import { flattenParts } from './completions.ts'

/** Returns the same chunk if its choices are complete. */
export function normalizeChunk(chunk: JsonRecord): JsonRecord {
  const { choices } = chunk
  return Array.isArray(choices) ? withFields(chunk, { choices: withItems(choices, normalizeChunkChoice) }) : chunk
}

function normalizeChunkChoice(choice: unknown, at: number): unknown {
  if (!isRecord(choice)) return choice
  const { index, delta } = choice
  const isNumbered = Number.isSafeInteger(index) && (index as number) >= 0
  return withFields(choice, {
    index: isNumbered ? index : at,
    ...(isRecord(delta) ? { delta: normalizeDelta(delta) } : {}),
  })
}

function normalizeDelta(delta: JsonRecord): JsonRecord {
  return Array.isArray(delta.content) ? withFields(delta, flattenParts(delta.content, delta)) : delta
}

/** The finish reason that this delta implies; null if the delta implies none. */
export function inferDeltaFinish(delta: unknown): string | null {
  if (!isRecord(delta)) return null
  if (Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0) return 'tool_calls'
  return isRecord(delta.function_call) ? 'function_call' : null
}
