// Converts between streamed and buffered answers of servers: some servers stream although the client wants one answer,
// and some do not support streams.

import { toModelCallError } from '../../models/calls/model-answer.ts'
import { ProviderError } from '../../models/provider-error.ts'
import { SseDataParser } from '../../models/providers/shared/sse-data-parser.ts'
import type { Platform } from '../../platform.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { isRecord } from '../../shared/record.ts'
import type { Steps } from '../../shared/time-slices.ts'
import type { AnswerStreamSource } from '../answers/stream.ts'
import { type JsonRecord, parseObject, parseObjectSteps } from '../json/values.ts'
import { normalizeCompletion } from '../normalization/completions.ts'
import { type BufferedCompletionParts, MAX_COMPLETION_BYTES, readBufferedCompletion } from './buffered-completion.ts'
import { ChunkAggregator } from './chunk-aggregator.ts'
import { DONE_EVENT } from './chunk-scan.ts'
import { isEventStream } from './exchange.ts'
import { StreamedCompletion, type StreamedCompletionParts } from './streamed-completion.ts'

export interface ConversionParts
  extends Omit<StreamedCompletionParts, 'failed' | 'slices'>,
    Pick<BufferedCompletionParts, 'slices'> {
  readonly platform: Pick<Platform, 'id' | 'now'>
}

/**
 * Returns the bytes of a completion, or a parsed completion that the caller encodes.
 * @throws ProviderError; the signal's reason
 */
export async function readCompletion(parts: ConversionParts): Promise<Uint8Array | JsonRecord> {
  return isEventStream(parts.answer) ? await aggregateStream(parts) : await readBufferedCompletion(parts)
}

export function openEventStream(parts: ConversionParts & Pick<StreamedCompletionParts, 'failed'>): AnswerStreamSource {
  return isEventStream(parts.answer) ? new StreamedCompletion(parts, parts.platform.now) : new BufferedEvents(parts)
}

/** Sends a buffered answer as the events of a stream, all at once. */
class BufferedEvents implements AnswerStreamSource {
  readonly #parts: ConversionParts
  #over = false

  constructor(parts: ConversionParts) {
    this.#parts = parts
  }

  /** @throws ProviderError; the signal's reason */
  async next(): Promise<string | null> {
    if (this.#over) return null
    this.#over = true
    const given = await readBufferedCompletion(this.#parts)
    const completion = given instanceof Uint8Array ? parseObject(Buffer.from(given).toString()) : given
    const { owner, slices, body } = this.#parts
    return await slices.begin(owner, encodeEventsSteps(completion, body.stream_options?.include_usage === true))
  }

  close(): void {}
}

/** The completion was normalized. */
function* encodeEventsSteps({ choices, usage, ...rest }: JsonRecord, include_usage: boolean): Steps<string> {
  const head = { ...rest, object: 'chat.completion.chunk' }
  const chunks = (choices as JsonRecord[]).flatMap(({ message, finish_reason, ...choice }) => [
    { ...head, choices: [{ ...choice, delta: toDelta(message as JsonRecord), finish_reason: null }] },
    { ...head, choices: [{ index: choice.index, delta: {}, finish_reason }] },
  ])
  const counts = include_usage ? [{ ...head, choices: [], usage }] : []
  let events = ''
  for (const chunk of [...chunks, ...counts]) events += `data: ${yield* stringifySteps(chunk)}\n\n`
  return events + DONE_EVENT
}

/** Adds indexes to the tool calls. */
function toDelta(message: JsonRecord): JsonRecord {
  const { tool_calls } = message
  if (!Array.isArray(tool_calls)) return message
  return { ...message, tool_calls: tool_calls.map((call, index) => (isRecord(call) ? { index, ...call } : call)) }
}

async function aggregateStream(parts: ConversionParts): Promise<JsonRecord> {
  const { found, body, platform } = parts
  const failures: unknown[] = []
  const failed = (error: unknown) => {
    failures.push(error)
    return ''
  }
  const body_with_usage = { ...body, stream_options: { include_usage: true } }
  const stream = new StreamedCompletion({ ...parts, body: body_with_usage, failed }, platform.now)
  try {
    const chunks = await aggregateChunks(stream, parts)
    if (failures.length > 0) throw failures[0]
    return normalizeCompletion(chunks.completion(), { platform, model: found.model.id })
  } catch (cause) {
    throw toModelCallError(found.provider.name, cause)
  } finally {
    stream.close()
  }
}

/** @throws what the pieces throw, and errors of their content */
async function aggregateChunks(
  pieces: StreamedCompletion,
  { found, owner, slices }: ConversionParts,
): Promise<ChunkAggregator> {
  const chunks = new ChunkAggregator()
  const texts = new SseDataParser()
  let length = 0
  for (let piece = await pieces.next(); piece !== null; piece = await pieces.next()) {
    length += piece.length
    if (length > MAX_COMPLETION_BYTES)
      throw new ProviderError(
        'too_large',
        `The provider "${found.provider.name}" gave more than ${MAX_COMPLETION_BYTES} bytes.`,
      )
    for (const data of texts.feed(piece))
      if (data.startsWith('{')) await slices.begin(owner, addChunkSteps(chunks, data))
  }
  return chunks
}

function* addChunkSteps(chunks: ChunkAggregator, data: string): Steps<void> {
  yield* chunks.add(yield* parseObjectSteps(data))
}
