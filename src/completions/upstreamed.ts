// Requests that go on to a server that speaks OpenAI's protocol, and the heads of its answers.
import type { Scope } from '../db/scope.ts'
import { faultOf } from '../models/answer.ts'
import { Malformed } from '../models/checked.ts'
import type { Customer } from '../models/customer.ts'
import type { Found } from '../models/finding.ts'
import type { Upstream, UpstreamAnswer, UpstreamRequest } from '../models/provider.ts'
import { ProviderError } from '../models/provider-error.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { AnswerStream } from './answer-stream.ts'
import { forwarded, withoutMark, withoutWish } from './forwarding.ts'
import { failureOf } from './told-failure.ts'
import { unambiguousText } from './unambiguous-request.ts'

/** An answer in OpenAI's form: the text of one JSON object, or a stream of events. */
export interface Given {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | AnswerStream
}

/** A request with everything that is known of where it goes. */
export interface Upstreamed<Body> {
  readonly asked: { readonly owner: Scope; readonly body: Body; readonly raw: Uint8Array | null }
  readonly found: Found
  readonly customer: Customer
  readonly upstream: Upstream
  readonly signal: AbortSignal
  /** What looks at long requests. */
  readonly slices: Pick<TimeSlices, 'run'>
}

/** The media types of an answer. Some servers call JSON a text, or do not say what they send. */
const STREAM = /^text\/event-stream\b/i
const JSON_TYPE = /^(?:$|text\/(?:plain|json)\b|application\/(?:[\w.-]+\+)?json\b)/i
/** The others that are named in the log. A header may hold whatever its server was told, the key as well. */
const NAMED_TYPE =
  /^(?:text\/(?:html|xml|event-stream)|application\/(?:xml|octet-stream|x-ndjson|x-www-form-urlencoded))\b/i

/** For a customer who was admitted. Vectors come whole, everything else whole or streamed. @throws ProviderError; INVALID_REQUEST; the signal's reason */
export async function ask(
  { asked, found, upstream, signal, slices }: Upstreamed<object>,
  path: UpstreamRequest['path'],
  streamed: boolean,
): Promise<UpstreamAnswer> {
  const { model, credential } = found
  const raw = await unambiguousText(asked, slices)
  const body = forwarded(raw, { model: model.name, include_usage: streamed })
  const without = streamed ? { plain: () => withoutWish(raw, model.name) } : {}
  const answer = await upstream.send({ path, body, ...without, credential, signal })
  if (JSON_TYPE.test(answer.content_type) || (isStream(answer) && path !== '/embeddings')) return answer
  answer.body.destroy()
  const [type = 'another type'] = NAMED_TYPE.exec(answer.content_type) ?? []
  throw failureOf(found, new Malformed(`an answer of ${type.toLowerCase()}`))
}

/** Whether it comes as events. */
export function isStream({ content_type }: UpstreamAnswer): boolean {
  return STREAM.test(content_type)
}

/** The bytes of an answer that is not streamed, handed on as they come. @throws ProviderError; the signal's reason; what `take` throws */
export async function wholeAnswer(
  { provider }: Found,
  { body }: UpstreamAnswer,
  most: number,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  let length = 0
  try {
    for await (const piece of marked(body)) {
      length += piece.length
      if (length > most)
        throw new ProviderError('too_large', `The provider "${provider.name}" gave more than ${most} bytes.`)
      take(piece)
    }
  } catch (cause) {
    body.destroy()
    throw faultOf(provider.name, cause)
  }
}

/** Without the mark of a byte order, wherever its bytes are parted. */
async function* marked(body: UpstreamAnswer['body']): AsyncGenerator<Uint8Array, void, void> {
  let held: Uint8Array | null = new Uint8Array()
  for await (const piece of body) {
    if (held === null) yield piece
    else {
      held = held.length > 0 ? Buffer.concat([held, piece]) : piece
      if (held.length < 3) continue
      yield withoutMark(held)
      held = null
    }
  }
  if (held) yield held
}
