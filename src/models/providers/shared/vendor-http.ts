// Sends requests to a vendor over HTTP and reads JSON or server-sent events. Errors have messages that are safe to show.
import { createParser } from 'eventsource-parser'
import { outgoingTimeSlices } from '../../../net/outgoing-time-slices.ts'
import { parseRetryAfterMs, type UpstreamClient } from '../../../net/upstream/client.ts'
import type { UpstreamResponse } from '../../../net/upstream/exchange.ts'
import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import { readWholeBody, type UpstreamResponseBody } from '../../../net/upstream/response-body.ts'
import type { ProviderContext } from '../../provider.ts'
import { ProviderError, type ProviderFault } from '../../provider-error.ts'
import { createErrorTextRedactor } from './error-text-redaction.ts'
import { parseBoundedJson, parseEventData } from './json-parsing.ts'
import { createVendorError, parseVendorError, toVendorError, type VendorErrorBody } from './vendor-errors.ts'

export interface VendorApi {
  /** The provider's name. */
  readonly name: string
  /** With the version of the protocol, without a slash at the end. */
  readonly base_url: string
  readonly client: UpstreamClient
  headers(credential: string | null): Readonly<Record<string, string>>
  /** The fault that an error object means; null where the status decides. */
  faultOf(error: VendorErrorBody): ProviderFault | null
}

/** For answers that are not events. */
const MAX_BYTES = 64 * 1_024 * 1_024
/** For a page of a list, which is parsed in one go and blocks the event loop. */
const MAX_LIST_BYTES = 4 * 1_024 * 1_024
const MAX_ERROR_BYTES = 65_536
/** How long to wait for the body of an error: the status says enough. */
const REASON_MS = 2_000
/** In characters, between two events. */
const MAX_EVENT_LENGTH = 8_388_608

/** A key that a header can carry (RFC 9110, section 5.5). */
const HEADER_SAFE_KEY = /^[\x21-\x7e]+$/

const FAULTS_BY_STATUS: Readonly<Record<number, ProviderFault>> = {
  401: 'no_key',
  403: 'no_key',
  404: 'not_found',
  408: 'timed_out',
  429: 'rate_limited',
  504: 'timed_out',
}

/** @throws ProviderError; the signal's reason */
export async function requestJson(
  vendor: VendorApi,
  path: string,
  body: object | null,
  context: ProviderContext,
): Promise<unknown> {
  const reply = await sendRequest(vendor, path, body, context)
  try {
    const most = body === null ? MAX_LIST_BYTES : MAX_BYTES
    const { read = async (text) => parseBoundedJson(text.toString()) } = context
    return await read(await readWholeBody(reply.body, most))
  } catch (cause) {
    context.signal.throwIfAborted()
    throw toVendorError(vendor, cause)
  }
}

/** Gives the parsed data of each event up to the last, which `isLast` tells. Ending the iteration ends the connection. @throws ProviderError; the signal's reason */
export async function* requestEvents(
  vendor: VendorApi,
  path: string,
  body: object,
  context: ProviderContext,
  isLast: (event: unknown) => boolean,
): AsyncGenerator<unknown, void, void> {
  const reply = await sendRequest(vendor, path, body, context)
  const type = reply.header('content-type') ?? ''
  if (!/^text\/event-stream\b/i.test(type)) {
    reply.body.destroy()
    throw toVendorError(vendor, new Error(`an answer of the type "${type}"`))
  }
  context.heard?.(null)
  let ended = false
  try {
    for await (const data of parseEventStream(reply.body)) {
      const event = await parseEventData(data, context.read)
      yield event
      ended = isLast(event)
      if (ended) break
    }
  } catch (cause) {
    context.signal.throwIfAborted()
    throw toVendorError(vendor, cause)
  } finally {
    // After the last event only the end of the answer comes, and the connection can be reused.
    if (ended) reply.body.release()
    else reply.body.destroy()
  }
}

/** Does not close the body: the caller does. */
async function* parseEventStream(body: UpstreamResponseBody): AsyncGenerator<string, void, void> {
  const events: string[] = []
  const parser = createParser({ onEvent: ({ data }) => events.push(data) })
  const decoder = new TextDecoder()
  let between = 0
  for (;;) {
    const step = await body.next()
    // The last event may lack the empty line at its end.
    const text = step.done ? `${decoder.decode()}\n\n` : decoder.decode(step.value, { stream: true })
    parser.feed(text)
    between = events.length > 0 ? 0 : between + text.length
    if (between > MAX_EVENT_LENGTH) throw new UpstreamFailure('too_large', 'sent an event that is too large')
    yield* events.splice(0)
    if (step.done) return
  }
}

async function sendRequest(
  vendor: VendorApi,
  path: string,
  body: object | null,
  { credential, signal, written = JSON.stringify }: ProviderContext,
): Promise<UpstreamResponse> {
  const key = credential?.trim() ?? null
  if (key !== null && !HEADER_SAFE_KEY.test(key))
    throw new ProviderError(
      'no_key',
      `The key of the provider "${vendor.name}" has characters that a header cannot carry.`,
    )
  const { origin, pathname } = new URL(vendor.base_url)
  const text = body && (await written(body))
  const reply = await vendor.client
    .send({
      method: body === null ? 'GET' : 'POST',
      origin,
      path: `${pathname.replace(/\/+$/, '')}${path}`,
      headers: {
        accept: 'application/json, text/event-stream',
        'accept-encoding': 'identity',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...vendor.headers(key),
      },
      ...(text === null ? {} : { body: text }),
      signal,
      // The list cache repeats requests for lists itself.
      shouldRetry: body !== null,
    })
    .catch((cause: unknown) => {
      signal.throwIfAborted()
      throw toVendorError(vendor, cause)
    })
  if (reply.status >= 200 && reply.status < 300) return reply
  throw await readErrorResponse(vendor, reply, credential, signal)
}

async function readErrorResponse(
  vendor: VendorApi,
  reply: UpstreamResponse,
  credential: string | null,
  signal: AbortSignal,
): Promise<ProviderError> {
  const bodyTimeout = setTimeout(() => reply.body.destroy(), REASON_MS)
  const bodyText = await readWholeBody(reply.body, MAX_ERROR_BYTES).then(String, () => '')
  clearTimeout(bodyTimeout)
  // Redacting a long key takes milliseconds, and dozens of requests may be refused at once.
  await outgoingTimeSlices.turn(vendor.name)
  signal.throwIfAborted()
  const errorBody = parseVendorError(bodyText)
  const fault = vendor.faultOf(errorBody) ?? mapStatusToFault(reply.status)
  const retryMs = fault === 'rate_limited' ? parseRetryAfterMs(reply) : null
  return createVendorError(vendor, fault, errorBody, {
    credential,
    retry_after_seconds: retryMs === null ? null : Math.ceil(retryMs / 1_000),
    cause: new Error(
      `it answered with the status ${reply.status}: ${createErrorTextRedactor(credential)(errorBody.message || bodyText).slice(0, 2_000)}`,
    ),
  })
}

function mapStatusToFault(status: number): ProviderFault {
  return FAULTS_BY_STATUS[status] ?? (status >= 400 && status < 500 ? 'rejected' : 'failed')
}

/** Adds the version of the protocol to a base URL that has none. */
export function withApiVersion(base_url: string, version: string): string {
  const bare = base_url.replace(/\/+$/, '')
  return /\/v\d+[a-z]*$/.test(bare) ? bare : `${bare}/${version}`
}
