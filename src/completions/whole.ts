// Whole answers of servers that speak OpenAI's protocol: held against what a completion is, and handed on as they came, but for what they owe: a count,
// and whatever else the contract requires.
import type { ChatCompletionRequest } from '../../generated/types.ts'
import type { Found } from '../models/finding.ts'
import { isLong } from '../models/json-text.ts'
import { failureIn } from '../models/openai-events.ts'
import type { UpstreamAnswer } from '../models/provider.ts'
import { KeptPieces } from '../net/kept-pieces.ts'
import type { TimeSlices } from '../time-slices.ts'
import { changesOf } from './changes.ts'
import { type Counted, countedOf, usageWith, writtenInMessage } from './chunk-facts.ts'
import { isRecord, type Json, objectIn, objectSteps, withFields } from './json-values.ts'
import { edited } from './members.ts'
import { type Mending, mendedCompletion, messagesOf } from './mended.ts'
import { failureOf, ToldFailure } from './told-failure.ts'
import { wholeAnswer } from './upstreamed.ts'
import { brokenOff, completed } from './usage.ts'
import { withTexts } from './with-texts.ts'

/** In bytes: more than any model writes, and no more than is read in a moment. */
export const LONGEST = 33_554_432

export interface WholeParts {
  readonly found: Found
  readonly body: ChatCompletionRequest
  readonly answer: UpstreamAnswer
  readonly platform: Mending['platform']
  /** In whose turns long answers are read. */
  readonly owner: string
  readonly slices: Pick<TimeSlices, 'run' | 'begin'>
  /** Told once what was used; null: nothing. */
  used(counted: Counted | null): void
}

interface Read {
  readonly bytes: Uint8Array | Json
  readonly counted: Counted
}

/** The bytes of a completion, or the completion itself where they are many: it is to be written anew. @throws ProviderError; the signal's reason */
export async function whole(parts: WholeParts): Promise<Uint8Array | Json> {
  const { found, body, answer, platform, owner, slices, used } = parts
  const kept = new KeptPieces()
  let counted: Counted | null = brokenOff(found, body, 0, null)
  try {
    await wholeAnswer(found, answer, LONGEST, (piece) => kept.add(piece))
    const bytes = Buffer.concat(kept.all())
    const isSlow = isLong(bytes)
    const given = isSlow ? await slices.run(owner, objectSteps(bytes)) : objectIn(bytes.toString())
    const failure = failureIn(given)
    if (failure) {
      counted = paidFor(given, found, body)
      throw new ToldFailure(failure)
    }
    const told = isSlow ? await slices.run(owner, withTexts(given, 'message')) : given
    const read = completion(bytes, told, { found, body, platform })
    counted = read.counted
    return read.bytes
  } catch (cause) {
    throw failureOf(found, cause)
  } finally {
    used(counted)
  }
}

/** What a failure has used: nothing, but for what its server counts all the same. */
function paidFor(given: Json, found: Found, body: ChatCompletionRequest): Counted | null {
  const counted = countedOf(given.usage)
  return counted && (counted.input_tokens || counted.output_tokens || counted.cost)
    ? completed(found, body, 0, counted)
    : null
}

/** @throws Malformed */
function completion(bytes: Buffer, given: Json, way: Pick<WholeParts, 'found' | 'body' | 'platform'>): Read {
  const { found, body, platform } = way
  const mended = mendedCompletion(given, { platform, model: found.model.id })
  const counted = countedOf(given.usage)
  // What was counted is not looked through.
  const length = counted?.output_tokens ? 0 : lengthOf(given)
  const complete = completed(found, body, length, counted)
  const usage = usageWith(isRecord(given.usage) ? given.usage : {}, complete)
  const wanted = withFields(mended, { usage: isRecord(given.usage) ? withFields(given.usage, usage) : usage })
  if (isLong(bytes)) return { bytes: wanted, counted: complete }
  if (wanted === given) return { bytes, counted: complete }
  return { bytes: edited(bytes, changesOf(bytes.toString('latin1'), given, wanted)), counted: complete }
}

/** Of all that it says, in bytes. It has been held against what a completion is. */
function lengthOf(given: Json): number {
  return messagesOf(given).reduce((sum, message) => sum + writtenInMessage(message), 0)
}
