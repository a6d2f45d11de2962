// Sends requests to servers that speak OpenAI's protocol, and reads their responses.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { BillingContext } from '../../models/billing/billing-context.ts'
import { toModelCallError } from '../../models/calls/model-answer.ts'
import type { ResolvedModel } from '../../models/catalogue/resolved-model.ts'
import type { OpenAiUpstream, PassthroughRequest, PassthroughResponse } from '../../models/provider.ts'
import { ProviderError } from '../../models/provider-error.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { AnswerStream } from '../answers/stream.ts'
import { encodeUnambiguousBody } from '../requests/unambiguous-body.ts'
import { createBodyWithoutStreamOptions, createUpstreamBody, stripByteOrderMark } from '../requests/upstream-body.ts'
import { toProviderError } from './error-body.ts'

/** An answer in OpenAI's format: JSON text, or a stream of events. */
export interface OpenAiResponse {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | AnswerStream
}

/** A request with its resolved model, billing and server. */
export interface RoutedRequest<Body> {
  readonly asked: { readonly owner: OwnerScope; readonly body: Body; readonly raw: Uint8Array | null }
  readonly found: ResolvedModel
  readonly billing: BillingContext
  readonly upstream: OpenAiUpstream
  readonly signal: AbortSignal
  /** Time slices for long requests. */
  readonly slices: Pick<TimeSliceScheduler, 'run'>
}

/** Accepted media types. Some servers label JSON as text, or send no type. */
const EVENT_STREAM_TYPE = /^text\/event-stream\b/i
const JSON_TYPE = /^(?:$|text\/(?:plain|json)\b|application\/(?:[\w.-]+\+)?json\b)/i
/** Other types that the log may name. A header may echo the request, including the API key. */
const LOGGED_TYPE =
  /^(?:text\/(?:html|xml|event-stream)|application\/(?:xml|octet-stream|x-ndjson|x-www-form-urlencoded))\b/i

/**
 * The caller checks the budget first. Embeddings are always buffered.
 * @throws ProviderError; INVALID_REQUEST; the signal's reason
 */
export async function sendUpstream(
  { asked, found, upstream, signal, slices }: RoutedRequest<object>,
  path: PassthroughRequest['path'],
  streamed: boolean,
): Promise<PassthroughResponse> {
  const { model, credential } = found
  const raw = await encodeUnambiguousBody(asked, slices)
  const body = createUpstreamBody(raw, { model: model.name, include_usage: streamed })
  const without = streamed ? { plain: () => createBodyWithoutStreamOptions(raw, model.name) } : {}
  const answer = await upstream.send({ path, body, ...without, credential, signal })
  if (JSON_TYPE.test(answer.content_type) || (isEventStream(answer) && path !== '/embeddings')) return answer
  answer.body.destroy()
  const [type = 'another type'] = LOGGED_TYPE.exec(answer.content_type) ?? []
  throw toProviderError(found, new MalformedDataError(`an answer of ${type.toLowerCase()}`))
}

export function isEventStream({ content_type }: PassthroughResponse): boolean {
  return EVENT_STREAM_TYPE.test(content_type)
}

/**
 * Passes the bytes of a buffered answer to `take` as they arrive.
 * @throws ProviderError; the signal's reason; what `take` throws
 */
export async function readResponseBody(
  { provider }: ResolvedModel,
  { body }: PassthroughResponse,
  most: number,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  let length = 0
  try {
    for await (const piece of withoutByteOrderMark(body)) {
      length += piece.length
      if (length > most)
        throw new ProviderError('too_large', `The provider "${provider.name}" gave more than ${most} bytes.`)
      take(piece)
    }
  } catch (cause) {
    body.destroy()
    throw toModelCallError(provider.name, cause)
  }
}

/** The byte order mark may be split across pieces. */
async function* withoutByteOrderMark(body: PassthroughResponse['body']): AsyncGenerator<Uint8Array, void, void> {
  let held: Uint8Array | null = new Uint8Array()
  for await (const piece of body) {
    if (held === null) yield piece
    else {
      held = held.length > 0 ? Buffer.concat([held, piece]) : piece
      if (held.length < 3) continue
      yield stripByteOrderMark(held)
      held = null
    }
  }
  if (held) yield held
}
