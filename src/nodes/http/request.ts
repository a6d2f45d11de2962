// Builds the request that a node's properties describe, sends it with retries, and returns the response.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { IncomingResponse, OutgoingRequest } from '../../engine/node-api/services/outgoing-http.ts'
import { type BodyType, encodeFields, encodeRequestBody, formatSingleValue } from './request-body.ts'
import type { ReceivedResponse } from './response.ts'
import { FiringSecrets, fillUrlSecrets } from './secret-placeholders.ts'

export interface RequestInputs extends InputValues {
  method: string
  url: string
  query: Record<string, unknown> | null
  headers: Record<string, unknown> | null
  body: unknown
  body_type: BodyType
  request_timeout_seconds: number
  max_bytes: number
  max_redirects: number
  retries: number
}

/** Idempotent methods: RFC 9110 §9.2.2. */
const IDEMPOTENT_METHODS: ReadonlySet<unknown> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Statuses with which a server says that it has not begun, if it also sends Retry-After. */
const NOT_STARTED_STATUSES: ReadonlySet<number> = new Set([429, 503])
const TRANSIENT_FAILURES: ReadonlySet<string> = new Set(['connection_failed', 'http_timeout'])
const MOST_HEADERS = 100
const SECOND_MS = 1000
const LONGEST_WAIT_MS = 60 * SECOND_MS

export function hasIdempotentMethod({ method }: InputValues): boolean {
  return IDEMPOTENT_METHODS.has(method)
}

async function buildUrl({ url, query }: RequestInputs, secrets: FiringSecrets, context: NodeContext): Promise<string> {
  const filled = await fillUrlSecrets(secrets, url)
  const more = query === null ? '' : await encodeFields(query, 'query', secrets, context)
  if (more === '') return filled
  const [base, ...fragment] = filled.split('#')
  const joint = base!.includes('?') ? '&' : '?'
  return [`${base}${joint}${more}`, ...fragment].join('#')
}

async function buildHeaders({ headers }: RequestInputs, secrets: FiringSecrets): Promise<Record<string, string>> {
  const filled: [string, string][] = []
  if (Object.keys(headers ?? {}).length > MOST_HEADERS) {
    throw new NodeError(`The request has more than ${MOST_HEADERS} headers.`, 'bad_header')
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    filled.push([name, await secrets.fill('headers', formatSingleValue(name, value, 'The header'))])
  }
  return Object.fromEntries(filled)
}

/** The request that a node's properties describe, with its secrets in place. */
export async function buildRequest(inputs: RequestInputs, context: NodeContext): Promise<OutgoingRequest> {
  const secrets = new FiringSecrets(context)
  const url = await buildUrl(inputs, secrets, context)
  const headers = await buildHeaders(inputs, secrets)
  const body = await encodeRequestBody(inputs.body, inputs.body_type, secrets, context)
  const named = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  return {
    method: inputs.method,
    url,
    headers: body === null || named ? headers : { ...headers, 'content-type': body.content_type },
    body: body?.bytes ?? null,
    timeout_ms: inputs.request_timeout_seconds * SECOND_MS,
    max_bytes: inputs.max_bytes,
    max_redirects: inputs.max_redirects,
    secrets: secrets.values,
    secret_body: secrets.isFilledIn('body'),
    signal: context.signal,
    onBytesHeld: (bytes) => context.hold(bytes),
  }
}

/** Milliseconds until the time in Retry-After, which is seconds or a date (RFC 9110 §10.2.3); null if the header is missing or invalid. */
function parseRetryAfter(response: IncomingResponse, now: number): number | null {
  const text = response.headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND_MS
  const date = text.length <= 40 && text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

/** Milliseconds to wait before a retry, or null if a retry would be wrong or useless. */
function retryDelay(
  result: IncomingResponse | NodeError,
  inputs: InputValues,
  tried: number,
  context: NodeContext,
): number | null {
  const backoff = SECOND_MS * 2 ** tried * (0.5 + context.random() / 2)
  if (result instanceof NodeError) {
    return TRANSIENT_FAILURES.has(result.type) && hasIdempotentMethod(inputs)
      ? Math.min(backoff, LONGEST_WAIT_MS)
      : null
  }
  if (!TRANSIENT_STATUSES.has(result.status)) return null
  const asked = parseRetryAfter(result, context.clock.now())
  if (!hasIdempotentMethod(inputs) && (asked === null || !NOT_STARTED_STATUSES.has(result.status))) return null
  return Math.min(asked ?? backoff, LONGEST_WAIT_MS)
}

async function trySend(request: OutgoingRequest, context: NodeContext): Promise<IncomingResponse | NodeError> {
  try {
    return await context.services.http.send(request)
  } catch (error) {
    if (error instanceof NodeError) return error
    throw error
  }
}

/** Sends a request with up to `retries` retries. Throws the NodeError of the last attempt. */
export async function sendWithRetries(
  request: OutgoingRequest,
  inputs: RequestInputs,
  context: NodeContext,
): Promise<ReceivedResponse> {
  for (let tried = 0; ; tried++) {
    const result = await trySend(request, context)
    const wait = tried < inputs.retries ? retryDelay(result, inputs, tried, context) : null
    if (wait === null) {
      if (result instanceof NodeError) throw result
      return { response: result, secrets: request.secrets }
    }
    const why = result instanceof NodeError ? result.message : `The server responded with status ${result.status}.`
    const when = `Trying again in ${(wait / SECOND_MS).toFixed(1)} s (${tried + 1} of ${inputs.retries}).`
    context.log('warning', `${why} ${when}`)
    await context.clock.sleep(wait, context.signal)
  }
}
