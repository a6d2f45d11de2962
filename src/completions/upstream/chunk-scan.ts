// Scans the text of streamed chunks without parsing them where possible, and encodes events that replace them.

import { parseBoundedJson } from '../../models/providers/shared/json-parsing.ts'
import { MAX_COST } from '../../models/providers/shared/provider-data-validation.ts'
import { isRecord } from '../../shared/record.ts'
import type { JsonRecord } from '../json/values.ts'

/** Fields that all chunks of an answer repeat, as the first chunk has them. */
export interface ChunkHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** The provider's count; zeros if the provider gives none. */
export interface ReportedUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  /** The cost that the provider reports, in the currency of the model's price; absent if it reports none. */
  readonly cost?: number
}

export const DONE_EVENT = 'data: [DONE]\n\n'

/** Bytes of base64 that count as one byte of text, for audio. */
const BYTES_PER_AUDIO_TOKEN = 1_000

/**
 * Fields of deltas that consist of tokens, and the divisor of their length. Every tool call has a name, so `name` is
 * last.
 */
const TOKEN_FIELDS: readonly (readonly [name: string, by: number])[] = [
  ['"content":', 1],
  ['"arguments":', 1],
  ['"reasoning_content":', 1],
  ['"reasoning":', 1],
  ['"refusal":', 1],
  ['"input":', 1],
  ['"transcript":', 1],
  ['"data":', BYTES_PER_AUDIO_TOKEN],
  ['"name":', 1],
]

export function encodeEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

/** Adds missing numbers to the usage of a provider. */
export function fillUsage(given: JsonRecord, { input_tokens, output_tokens }: ReportedUsage): JsonRecord {
  const { prompt_tokens, completion_tokens, total_tokens } = given
  // The provider's sum may contain tokens of other kinds.
  const isOwn = prompt_tokens === input_tokens && completion_tokens === output_tokens && parseCount(total_tokens) > 0
  return {
    ...given,
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: isOwn ? total_tokens : input_tokens + output_tokens,
  }
}

/** Null if there is no usage at all. */
export function parseUsage(usage: unknown): ReportedUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const { prompt_tokens, completion_tokens, cost } = usage as JsonRecord
  const counts = { input_tokens: parseCount(prompt_tokens), output_tokens: parseCount(completion_tokens) }
  return typeof cost === 'number' && cost >= 0 && cost <= MAX_COST ? { ...counts, cost } : counts
}

/** Zero if the value is not a positive count. */
export function parseCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}

export function parseChunkHead({ id, created, model }: JsonRecord): ChunkHead {
  return {
    id: typeof id === 'string' && id !== '' ? id : 'chatcmpl',
    created: parseCount(created),
    model: typeof model === 'string' && model !== '' ? model : 'unknown',
  }
}

/** JSON escapes quotes inside strings: a name between unescaped quotes is a name or a whole string. */
export function hasChoices(data: string): boolean {
  const at = data.indexOf('"choices"')
  return at >= 0 && /^\s*:\s*\[/.test(data.slice(at + 9, at + 29))
}

export function hasUsage(data: string): boolean {
  const at = data.indexOf('"usage"')
  return at >= 0 && !/^\s*:\s*null/.test(data.slice(at + 7, at + 27))
}

export function hasFinishReason(data: string): boolean {
  const at = data.lastIndexOf('"finish_reason"')
  return at >= 0 && /^\s*:\s*"[^"]/.test(data.slice(at + 15, at + 35))
}

/** Whether the chunk has a piece of a tool call, or of an old function call. */
export function hasToolCalls(data: string): boolean {
  return /"(?:tool_calls"\s*:\s*\[|function_call"\s*:)\s*\{/.test(data)
}

/** Whether the choice has an index and no content parts. */
export function isStandardChunk(data: string): boolean {
  return /"index"\s*:\s*\d/.test(data) && !/"content"\s*:\s*\[/.test(data)
}

/** Most deltas have one text. In bytes. */
export function measureChunkText(data: string): number {
  for (const [name, by] of TOKEN_FIELDS) {
    const length = measureText(data, name)
    if (length > 0) return Math.ceil(length / by)
  }
  return 0
}

/** The text length of a long chunk's choices, whose content and arguments are texts. In characters. */
export function measureDeltas(choices: readonly unknown[]): number {
  const deltas = choices.map((choice) => (isRecord(choice) && isRecord(choice.delta) ? choice.delta : {}))
  return deltas.reduce((sum, delta) => sum + measureMessage(delta), 0)
}

/** The text length of several choices, or of a changed choice. In bytes. */
export function measureChoices(choices: readonly unknown[]): number {
  return choices.reduce<number>(
    (sum, one) => sum + measureChunkText(Buffer.from(JSON.stringify(one)).toString('latin1')),
    0,
  )
}

/** The length of the first string after a name, in bytes; 0 if there is none. */
function measureText(data: string, name: string): number {
  const at = data.indexOf(name)
  if (at < 0) return 0
  let from = at + name.length
  while (data[from] === ' ') from++
  if (data[from] !== '"') return 0
  let to = data.indexOf('"', from + 1)
  while (to > 0 && isEscapedQuote(data, to)) to = data.indexOf('"', to + 1)
  return Math.max(0, to - from - 1)
}

/** Whether a quote is escaped, and so belongs to its string. */
export function isEscapedQuote(data: string, at: number): boolean {
  let before = at
  while (data[before - 1] === '\\') before--
  return (at - before) % 2 === 1
}

/** The text length of a whole message, in bytes. */
export function measureMessage(message: JsonRecord): number {
  const { content, refusal, reasoning_content, reasoning, tool_calls, function_call, audio } = message
  const texts = [content, refusal, reasoning_content ?? reasoning].filter((one) => typeof one === 'string')
  // The content may be a list of parts.
  const parts = Array.isArray(content) && content.length > 0 ? measureJson(content) : 0
  const calls = [...(Array.isArray(tool_calls) ? tool_calls : []), ...(isRecord(function_call) ? [function_call] : [])]
  const length_with_calls = calls.reduce((sum, call) => sum + measureToolCall(call), parts)
  const { transcript, data } = (audio ?? {}) as JsonRecord
  const transcript_length = typeof transcript === 'string' ? transcript.length : 0
  const audio_length =
    transcript_length || (typeof data === 'string' ? Math.ceil(data.length / BYTES_PER_AUDIO_TOKEN) : 0)
  return texts.reduce((sum, text) => sum + text.length, length_with_calls + audio_length)
}

/** The length of a tool call or an old function call. Its arguments may be long. */
function measureToolCall(call: unknown): number {
  if (!isRecord(call)) return 0
  const [name, body] = isRecord(call.function) ? ['function', call.function] : ['', call]
  const { arguments: given } = body
  if (typeof given !== 'string') return measureJson(call)
  const rest = { ...body, arguments: '' }
  return given.length + measureJson(name === '' ? rest : { ...call, [name]: rest })
}

function measureJson(value: unknown): number {
  return JSON.stringify(value).length
}

export function parseChunk(data: string): JsonRecord | null {
  try {
    return parseBoundedJson(Buffer.from(data, 'latin1').toString()) as JsonRecord
  } catch {
    return null
  }
}
