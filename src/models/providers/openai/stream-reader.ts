// Reads a streamed answer: bytes in arbitrary pieces become parts.
import { createParser } from 'eventsource-parser'
import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import type { UpstreamResponseBody } from '../../../net/upstream/response-body.ts'
import type { CompletionPart, ProviderContext } from '../../provider.ts'
import { parseEventData } from '../shared/json-parsing.ts'
import { OpenAiAnswerReader } from './answer-reader.ts'
import {
  createConnectionError,
  createMalformedAnswerError,
  createStreamError,
  type ServerCredentials,
} from './errors.ts'
import { isKeepAlive } from './event-classification.ts'

interface StreamEvent {
  /** Empty where the event has no name. */
  readonly name: string
  readonly data: string
}

const END_OF_STREAM = '[DONE]'
/** In characters, between two events. */
const MAX_EVENT_LENGTH = 8_388_608

/** The caller reads to the end, or calls `return`, which closes the connection. @throws ProviderError, the signal's reason */
export async function* readStreamParts(
  body: UpstreamResponseBody,
  server: ServerCredentials,
  { heard, read }: Pick<ProviderContext, 'heard' | 'read'> = {},
): AsyncGenerator<CompletionPart, void, void> {
  const answer = new OpenAiAnswerReader(server, heard)
  let hasEnded = false
  try {
    for await (const { name, data } of parseEventStream(body, server)) {
      if (isKeepAlive(name)) continue
      if (name === 'error') throw createStreamError(server, data)
      if (data === END_OF_STREAM) {
        hasEnded = true
        body.release()
        break
      }
      yield* answer.readChunk(await parseEventData(data, read).catch(() => null))
    }
    if (!hasEnded && !answer.isFinished) throw createMalformedAnswerError(server, 'an incomplete answer')
    hasEnded = true
    yield answer.createEndPart()
  } finally {
    if (!hasEnded) body.destroy()
  }
}

/** Gives the events with data. */
async function* parseEventStream(
  body: UpstreamResponseBody,
  server: ServerCredentials,
): AsyncGenerator<StreamEvent, void, void> {
  const found: StreamEvent[] = []
  const parser = createParser({ onEvent: ({ event = '', data }) => found.push({ name: event, data }) })
  const decoder = new TextDecoder()
  let between = 0
  for (;;) {
    const step = await readNextBytes(body, server)
    // Some servers do not end the last line.
    const text = step === null ? `${decoder.decode()}\n\n` : decoder.decode(step, { stream: true })
    parser.feed(text)
    between = found.length > 0 ? 0 : between + text.length
    if (between > MAX_EVENT_LENGTH) {
      body.destroy()
      throw createConnectionError(server, new UpstreamFailure('too_large', 'sent an event that is too large'))
    }
    for (const event of found.splice(0)) if (event.data !== '') yield event
    if (step === null) return
  }
}

/** Null at the end of the body. */
async function readNextBytes(body: UpstreamResponseBody, server: ServerCredentials): Promise<Uint8Array | null> {
  try {
    const step = await body.next()
    return step.done ? null : step.value
  } catch (error) {
    throw error instanceof UpstreamFailure ? createConnectionError(server, error) : error
  }
}
