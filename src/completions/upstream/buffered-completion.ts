// Reads buffered answers of servers that speak OpenAI's protocol: validates the completion, and adds the usage and
// other fields that the contract requires. Other bytes stay unchanged.
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { PassthroughResponse } from '../../models/provider.ts'
import { findFailure } from '../../models/providers/openai/event-classification.ts'
import { isLongJson } from '../../models/providers/shared/json-parsing.ts'
import { ChunkBuffer } from '../../net/chunk-buffer.ts'
import { isRecord } from '../../shared/record.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import { applyEdits } from '../json/text-ranges.ts'
import { diffAsEdits } from '../json/value-diff.ts'
import { type JsonRecord, parseObject, parseObjectBytesSteps, withFields } from '../json/values.ts'
import { listMessages, type NormalizationContext, normalizeCompletion } from '../normalization/completions.ts'
import { flattenContentSteps } from '../normalization/content-flattening.ts'
import { fillUsage, measureMessage, parseUsage, type ReportedUsage } from './chunk-scan.ts'
import { toProviderError, UpstreamErrorBody } from './error-body.ts'
import { readResponseBody } from './exchange.ts'
import { completeInterruptedUsage, completeUsage } from './usage-estimate.ts'

/** In bytes: more than any model writes, and little enough to read at once. */
export const MAX_COMPLETION_BYTES = 33_554_432

export interface BufferedCompletionParts {
  readonly found: ResolvedModel
  readonly body: ChatCompletionRequest
  readonly answer: PassthroughResponse
  readonly platform: NormalizationContext['platform']
  /** The owner whose time slices are used for long answers. */
  readonly owner: string
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'begin'>
  /** Called once with the usage; null if nothing was used. */
  used(counted: ReportedUsage | null): void
}

interface ReadCompletion {
  readonly bytes: Uint8Array | JsonRecord
  readonly counted: ReportedUsage
}

/**
 * Returns the bytes of a completion, or the parsed completion if it is long: the caller encodes it again.
 * @throws ProviderError; the signal's reason
 */
export async function readBufferedCompletion(parts: BufferedCompletionParts): Promise<Uint8Array | JsonRecord> {
  const { found, body, answer, platform, owner, slices, used } = parts
  const kept = new ChunkBuffer()
  let counted: ReportedUsage | null = completeInterruptedUsage(found, body, 0, null)
  try {
    await readResponseBody(found, answer, MAX_COMPLETION_BYTES, (piece) => kept.add(piece))
    const bytes = Buffer.concat(kept.chunks())
    const isSlow = isLongJson(bytes)
    const given = isSlow ? await slices.run(owner, parseObjectBytesSteps(bytes)) : parseObject(bytes.toString())
    const failure = findFailure(given)
    if (failure) {
      counted = findFailureUsage(given, found, body)
      throw new UpstreamErrorBody(failure)
    }
    const flat = isSlow ? await slices.run(owner, flattenContentSteps(given, 'message')) : given
    const read = fillInCompletion(bytes, flat, { found, body, platform })
    counted = read.counted
    return read.bytes
  } catch (cause) {
    throw toProviderError(found, cause)
  } finally {
    used(counted)
  }
}

/** A failure used nothing, unless the server reports usage with it. */
function findFailureUsage(given: JsonRecord, found: ResolvedModel, body: ChatCompletionRequest): ReportedUsage | null {
  const counted = parseUsage(given.usage)
  return counted && (counted.input_tokens || counted.output_tokens || counted.cost)
    ? completeUsage(found, body, 0, counted)
    : null
}

/** @throws MalformedDataError */
function fillInCompletion(
  bytes: Buffer,
  given: JsonRecord,
  way: Pick<BufferedCompletionParts, 'found' | 'body' | 'platform'>,
): ReadCompletion {
  const { found, body, platform } = way
  const normalized = normalizeCompletion(given, { platform, model: found.model.id })
  const counted = parseUsage(given.usage)
  // If the server counted the tokens, the text is not measured.
  const length = counted?.output_tokens ? 0 : measureCompletion(given)
  const complete = completeUsage(found, body, length, counted)
  const usage = fillUsage(isRecord(given.usage) ? given.usage : {}, complete)
  const wanted = withFields(normalized, { usage: isRecord(given.usage) ? withFields(given.usage, usage) : usage })
  if (isLongJson(bytes)) return { bytes: wanted, counted: complete }
  if (wanted === given) return { bytes, counted: complete }
  return { bytes: applyEdits(bytes, diffAsEdits(bytes.toString('latin1'), given, wanted)), counted: complete }
}

/** The length of all text in bytes. The completion was validated before. */
function measureCompletion(given: JsonRecord): number {
  return listMessages(given).reduce((sum, message) => sum + measureMessage(message), 0)
}
