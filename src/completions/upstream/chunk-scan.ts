// What the chunks of a stream say, found in their text where that will do, and the events that are written in their place.

import { parseBoundedJson } from '../../models/providers/shared/json-parsing.ts'
import { MAX_COST } from '../../models/providers/shared/provider-data-validation.ts'
import { isRecord, type JsonRecord } from '../json/values.ts'

/** What the chunks of an answer say of it, as the first one said it. */
export interface ChunkHead {
  readonly id: string
  readonly created: number
  readonly model: string
}

/** By the provider's own count; zero where it gives none. */
export interface ReportedUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  /** What the provider says that it cost, in the currency of the model's price; absent where it does not say. */
  readonly cost?: number
}

export const DONE_EVENT = 'data: [DONE]\n\n'

/** What a token of sound takes in base64, in the place of one of text. */
const BYTES_PER_AUDIO_TOKEN = 1_000

/** The fields of deltas that are made of tokens, and by what their length is divided. A call has a name, whatever else it has. */
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

/** What a provider says of its count, and the numbers that it does not say. */
export function fillUsage(given: JsonRecord, { input_tokens, output_tokens }: ReportedUsage): JsonRecord {
  const { prompt_tokens, completion_tokens, total_tokens } = given
  // Its sum may have tokens that are of neither kind.
  const isOwn = prompt_tokens === input_tokens && completion_tokens === output_tokens && parseCount(total_tokens) > 0
  return {
    ...given,
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: isOwn ? total_tokens : input_tokens + output_tokens,
  }
}

/** Null where there is no count at all. */
export function parseUsage(usage: unknown): ReportedUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const { prompt_tokens, completion_tokens, cost } = usage as JsonRecord
  const counts = { input_tokens: parseCount(prompt_tokens), output_tokens: parseCount(completion_tokens) }
  return typeof cost === 'number' && cost >= 0 && cost <= MAX_COST ? { ...counts, cost } : counts
}

/** Zero where it is none. */
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

/** In JSON a quote within a text is escaped: a name between bare quotes is a name, or the whole of a text. */
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

/** Whether it has a piece of a call of a tool, or of one of old. */
export function hasToolCalls(data: string): boolean {
  return /"(?:tool_calls"\s*:\s*\[|function_call"\s*:)\s*\{/.test(data)
}

/** Whether its choice has a number, and no text in parts. */
export function isStandardChunk(data: string): boolean {
  return /"index"\s*:\s*\d/.test(data) && !/"content"\s*:\s*\[/.test(data)
}

/** A delta says one thing, mostly. In bytes of text. */
export function measureChunkText(data: string): number {
  for (const [name, by] of TOKEN_FIELDS) {
    const length = measureText(data, name)
    if (length > 0) return Math.ceil(length / by)
  }
  return 0
}

/** Of choices of a long chunk, whose content and arguments are texts. In characters. */
export function measureDeltas(choices: readonly unknown[]): number {
  const deltas = choices.map((choice) => (isRecord(choice) && isRecord(choice.delta) ? choice.delta : {}))
  return deltas.reduce((sum, delta) => sum + measureMessage(delta), 0)
}

/** Of several choices, or of one that is not as it came. In bytes of text. */
export function measureChoices(choices: readonly unknown[]): number {
  return choices.reduce<number>(
    (sum, one) => sum + measureChunkText(Buffer.from(JSON.stringify(one)).toString('latin1')),
    0,
  )
}

/** Of the first text behind a name, in bytes; 0 where there is none. */
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

/** Whether a quote is a part of the text in which it stands. */
export function isEscapedQuote(data: string, at: number): boolean {
  let before = at
  while (data[before - 1] === '\\') before--
  return (at - before) % 2 === 1
}

/** Of what was written in a whole answer, in bytes of text. */
export function measureMessage(message: JsonRecord): number {
  const { content, refusal, reasoning_content, reasoning, tool_calls, function_call, audio } = message
  const texts = [content, refusal, reasoning_content ?? reasoning].filter((one) => typeof one === 'string')
  // The text may come in parts.
  const parts = Array.isArray(content) && content.length > 0 ? measureJson(content) : 0
  const calls = [...(Array.isArray(tool_calls) ? tool_calls : []), ...(isRecord(function_call) ? [function_call] : [])]
  const length_with_calls = calls.reduce((sum, call) => sum + measureToolCall(call), parts)
  const { transcript, data } = (audio ?? {}) as JsonRecord
  const transcript_length = typeof transcript === 'string' ? transcript.length : 0
  const audio_length =
    transcript_length || (typeof data === 'string' ? Math.ceil(data.length / BYTES_PER_AUDIO_TOKEN) : 0)
  return texts.reduce((sum, text) => sum + text.length, length_with_calls + audio_length)
}

/** A call of a tool, or of a function of old. Its arguments may be long. */
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
