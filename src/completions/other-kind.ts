// Answers of servers that speak OpenAI's protocol, whichever of their two kinds they are of: some servers stream what nobody wants in pieces, and some
// know no streams.

import { jsonTextSteps } from '../json-steps.ts'
import { faultOf } from '../models/answer.ts'
import { EventTexts } from '../models/event-texts.ts'
import { ProviderError } from '../models/provider-error.ts'
import type { Platform } from '../platform.ts'
import type { Steps } from '../time-slices.ts'
import type { Pieces } from './answer-stream.ts'
import { DONE_EVENT } from './chunk-facts.ts'
import { JoinedChunks } from './joining.ts'
import { isRecord, type Json, objectIn, objectInSteps } from './json-values.ts'
import { mendedCompletion } from './mended.ts'
import { Passing, type PassingParts } from './passing.ts'
import { isStream } from './upstreamed.ts'
import { LONGEST, type WholeParts, whole } from './whole.ts'

export interface KindParts extends Omit<PassingParts, 'failed' | 'slices'>, Pick<WholeParts, 'slices'> {
  readonly platform: Pick<Platform, 'id' | 'now'>
}

/** The bytes of a completion, or one that is to be written anew. @throws ProviderError; the signal's reason */
export async function wholeOf(parts: KindParts): Promise<Uint8Array | Json> {
  return isStream(parts.answer) ? await joined(parts) : await whole(parts)
}

/** The events of a stream. */
export function piecesOf(parts: KindParts & Pick<PassingParts, 'failed'>): Pieces {
  return isStream(parts.answer) ? new Passing(parts, parts.platform.now) : new OnePiece(parts)
}

/** A whole answer as the events of a stream, which all come at once. */
class OnePiece implements Pieces {
  readonly #parts: KindParts
  #over = false

  constructor(parts: KindParts) {
    this.#parts = parts
  }

  /** @throws ProviderError; the signal's reason */
  async next(): Promise<string | null> {
    if (this.#over) return null
    this.#over = true
    const given = await whole(this.#parts)
    const completion = given instanceof Uint8Array ? objectIn(Buffer.from(given).toString()) : given
    const { owner, slices, body } = this.#parts
    return await slices.begin(owner, eventsOf(completion, body.stream_options?.include_usage === true))
  }

  close(): void {}
}

/** Of a completion that lacks nothing. */
function* eventsOf({ choices, usage, ...rest }: Json, include_usage: boolean): Steps<string> {
  const head = { ...rest, object: 'chat.completion.chunk' }
  const chunks = (choices as Json[]).flatMap(({ message, finish_reason, ...choice }) => [
    { ...head, choices: [{ ...choice, delta: deltaOf(message as Json), finish_reason: null }] },
    { ...head, choices: [{ index: choice.index, delta: {}, finish_reason }] },
  ])
  const counts = include_usage ? [{ ...head, choices: [], usage }] : []
  let events = ''
  for (const chunk of [...chunks, ...counts]) events += `data: ${yield* jsonTextSteps(chunk)}\n\n`
  return events + DONE_EVENT
}

/** Its calls with their numbers. */
function deltaOf(message: Json): Json {
  const { tool_calls: calls } = message
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.map((call, index) => (isRecord(call) ? { index, ...call } : call)) }
}

async function joined(parts: KindParts): Promise<Json> {
  const { found, body, platform } = parts
  const broken: unknown[] = []
  const failed = (error: unknown) => {
    broken.push(error)
    return ''
  }
  const wishing = { ...body, stream_options: { include_usage: true } }
  const passing = new Passing({ ...parts, body: wishing, failed }, platform.now)
  try {
    const chunks = await joinedOf(passing, parts)
    if (broken.length > 0) throw broken[0]
    return mendedCompletion(chunks.completion(), { platform, model: found.model.id })
  } catch (cause) {
    throw faultOf(found.provider.name, cause)
  } finally {
    passing.close()
  }
}

/** @throws what the pieces throw, and what is wrong with them */
async function joinedOf(pieces: Passing, { found, owner, slices }: KindParts): Promise<JoinedChunks> {
  const chunks = new JoinedChunks()
  const texts = new EventTexts()
  let length = 0
  for (let piece = await pieces.next(); piece !== null; piece = await pieces.next()) {
    length += piece.length
    if (length > LONGEST)
      throw new ProviderError('too_large', `The provider "${found.provider.name}" gave more than ${LONGEST} bytes.`)
    for (const data of texts.take(piece)) if (data.startsWith('{')) await slices.begin(owner, addSteps(chunks, data))
  }
  return chunks
}

function* addSteps(chunks: JoinedChunks, data: string): Steps<void> {
  yield* chunks.add(yield* objectInSteps(data))
}
