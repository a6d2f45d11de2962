// Asks a vendor over HTTP: what it answers as JSON, or as events that come one by one; and why it does not, in words that are safe to show.
import { createParser } from 'eventsource-parser'
import { slices } from '../net/slices.ts'
import { retryAfterMs, type UpstreamClient } from '../net/upstream.ts'
import { type UpstreamBody, wholeBody } from '../net/upstream-body.ts'
import type { UpstreamReply } from '../net/upstream-exchange.ts'
import { UpstreamFailure } from '../net/upstream-failure.ts'
import { eventValue, jsonIn } from './json-text.ts'
import type { ProviderContext } from './provider.ts'
import { ProviderError, type ProviderFault } from './provider-error.ts'
import { safeWords } from './safe-words.ts'
import { errorOf, failureOf, toldIn, type VendorFault } from './vendor-errors.ts'

export interface Vendor {
  /** The provider. */
  readonly name: string
  /** With the version of its protocol, without a slash at its end. */
  readonly base_url: string
  readonly client: UpstreamClient
  headers(credential: string | null): Readonly<Record<string, string>>
  /** What its error object means; null where its status says it. */
  faultOf(error: VendorFault): ProviderFault | null
}

/** Of answers that do not come as events. */
const MOST_BYTES = 64 * 1_024 * 1_024
/** Of a page of a list, which is read in one go while everybody else waits. */
const MOST_LIST_BYTES = 4 * 1_024 * 1_024
const MOST_ERROR_BYTES = 65_536
/** How long the words of a refusal are waited for: its status says enough. */
const REASON_MS = 2_000
/** So much may come without an event in it, in characters. */
const MOST_BETWEEN = 8_388_608

/** What a header can carry (RFC 9110, section 5.5) of a key. */
const KEY = /^[\x21-\x7e]+$/

const FAULTS: Readonly<Record<number, ProviderFault>> = {
  401: 'no_key',
  403: 'no_key',
  404: 'not_found',
  408: 'timed_out',
  429: 'rate_limited',
  504: 'timed_out',
}

/** @throws ProviderError; the signal's reason */
export async function askJson(
  vendor: Vendor,
  path: string,
  body: object | null,
  context: ProviderContext,
): Promise<unknown> {
  const reply = await ask(vendor, path, body, context)
  try {
    const most = body === null ? MOST_LIST_BYTES : MOST_BYTES
    const { read = async (text) => jsonIn(text.toString()) } = context
    return await read(await wholeBody(reply.body, most))
  } catch (cause) {
    context.signal.throwIfAborted()
    throw failureOf(vendor, cause)
  }
}

/** The data of each event, as JSON, to the one that `isLast` says is the last. The connection ends with whoever reads no further. @throws ProviderError; the signal's reason */
export async function* askEvents(
  vendor: Vendor,
  path: string,
  body: object,
  context: ProviderContext,
  isLast: (event: unknown) => boolean,
): AsyncGenerator<unknown, void, void> {
  const reply = await ask(vendor, path, body, context)
  const type = reply.header('content-type') ?? ''
  if (!/^text\/event-stream\b/i.test(type)) {
    reply.body.destroy()
    throw failureOf(vendor, new Error(`an answer of the type "${type}"`))
  }
  context.heard?.(null)
  let ended = false
  try {
    for await (const data of eventsOf(reply.body)) {
      const event = await eventValue(data, context.read)
      yield event
      ended = isLast(event)
      if (ended) break
    }
  } catch (cause) {
    context.signal.throwIfAborted()
    throw failureOf(vendor, cause)
  } finally {
    // After the last event nothing comes but the end of the answer, and the connection is good for others.
    if (ended) reply.body.release()
    else reply.body.destroy()
  }
}

/** Leaves the body to whoever has it. */
async function* eventsOf(body: UpstreamBody): AsyncGenerator<string, void, void> {
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
    if (between > MOST_BETWEEN) throw new UpstreamFailure('too_large', 'sent an event that is too large')
    yield* events.splice(0)
    if (step.done) return
  }
}

async function ask(
  vendor: Vendor,
  path: string,
  body: object | null,
  { credential, signal, written = JSON.stringify }: ProviderContext,
): Promise<UpstreamReply> {
  const key = credential?.trim() ?? null
  if (key !== null && !KEY.test(key))
    throw new ProviderError('no_key', `The key of the provider "${vendor.name}" has characters that no key can have.`)
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
      // Lists are asked for again anyway.
      patient: body !== null,
    })
    .catch((cause: unknown) => {
      signal.throwIfAborted()
      throw failureOf(vendor, cause)
    })
  if (reply.status >= 200 && reply.status < 300) return reply
  throw await refusalOf(vendor, reply, credential, signal)
}

async function refusalOf(
  vendor: Vendor,
  reply: UpstreamReply,
  credential: string | null,
  signal: AbortSignal,
): Promise<ProviderError> {
  const enough = setTimeout(() => reply.body.destroy(), REASON_MS)
  const said = await wholeBody(reply.body, MOST_ERROR_BYTES).then(String, () => '')
  clearTimeout(enough)
  // Looking for a long key takes milliseconds, and dozens of requests may be refused at once.
  await slices.turn(vendor.name)
  signal.throwIfAborted()
  const told = toldIn(said)
  const fault = vendor.faultOf(told) ?? faultOfStatus(reply.status)
  const wait = fault === 'rate_limited' ? retryAfterMs(reply) : null
  return errorOf(vendor, fault, told, {
    credential,
    retry_after_seconds: wait === null ? null : Math.ceil(wait / 1_000),
    cause: new Error(
      `it answered with the status ${reply.status}: ${safeWords(credential)(told.message || said).slice(0, 2_000)}`,
    ),
  })
}

function faultOfStatus(status: number): ProviderFault {
  return FAULTS[status] ?? (status >= 400 && status < 500 ? 'rejected' : 'failed')
}

/** A base URL with the version of the protocol, which it may have already. */
export function versioned(base_url: string, version: string): string {
  const bare = base_url.replace(/\/+$/, '')
  return /\/v\d+[a-z]*$/.test(bare) ? bare : `${bare}/${version}`
}
