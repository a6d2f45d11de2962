// Converts refusals and failures of servers that speak OpenAI's protocol to ProviderErrors, with texts of this service. Only for a rejected request
// the server's own message is shown, since it is about the caller's input.
import { outgoingTimeSlices } from '../../../net/outgoing-time-slices.ts'
import { parseRetryAfterMs } from '../../../net/upstream/client.ts'
import type { UpstreamResponse } from '../../../net/upstream/exchange.ts'
import type { UpstreamFailure, UpstreamFault } from '../../../net/upstream/failure.ts'
import { readWholeBody } from '../../../net/upstream/response-body.ts'
import { explainMissingKey, ProviderError, type ProviderFault } from '../../provider-error.ts'
import { type OpenAiErrorBody, parseErrorBody } from './error-body.ts'

export interface ServerCredentials {
  /** The provider's name. */
  readonly provider: string
  /** The name of the secret. */
  readonly secret: string | null
  readonly credential: string | null
}

/** The part of an error's body that is read. */
const MAX_ERROR_BYTES = 65_536
/** How long to wait for the body of an error: the status says enough. */
const REASON_MS = 2_000
const MAX_RETRY_SECONDS = 86_400

/** Texts of a 404 that is about the model: most servers say `model`, Azure `deployment`, OpenRouter `endpoints found`. */
const MODEL_NOT_FOUND_PATTERNS = [/\bmodel(?:\b|_)/i, /\bdeployment(?:\b|_|not)/i, /\bendpoints found\b/i]

const FAULTS_BY_UPSTREAM_FAULT: Readonly<Record<UpstreamFault, ProviderFault>> = {
  refused: 'failed',
  reset: 'failed',
  unknown_name: 'failed',
  insecure: 'failed',
  silent: 'timed_out',
  broken: 'failed',
  too_large: 'too_large',
  closed: 'failed',
}

/** For a connection that fails, or breaks off before the whole answer came. */
export function createConnectionError({ provider }: ServerCredentials, failure: UpstreamFailure): ProviderError {
  const text = `The provider "${provider}" ${failure.message}.`
  // The message has the failure's text already, and the log adds causes: so the cause is the failure's own, if there is one.
  return new ProviderError(FAULTS_BY_UPSTREAM_FAULT[failure.fault], text, { cause: failure.cause ?? failure })
}

export function createMalformedAnswerError(
  { provider }: ServerCredentials,
  what: string,
  cause?: unknown,
): ProviderError {
  return new ProviderError('failed', `The provider "${provider}" sent ${what}.`, { cause })
}

/** Reads the body of an answer with another status than 200 to 299. */
export async function readErrorResponse(server: ServerCredentials, reply: UpstreamResponse): Promise<ProviderError> {
  const bodyTimeout = setTimeout(() => reply.body.destroy(), REASON_MS)
  const body = await readWholeBody(reply.body, MAX_ERROR_BYTES).then(String, () => '')
  clearTimeout(bodyTimeout)
  // Redacting a long key takes milliseconds, and dozens of requests may be refused at once.
  await outgoingTimeSlices.turn(server.provider)
  return createStatusError(server, reply.status, parseErrorBody(body, server.credential), readRetrySeconds(reply))
}

/** For an error object in place of a chunk: `{"error": …}`. */
export function createStreamError(server: ServerCredentials, text: string): ProviderError {
  const errorBody = parseErrorBody(text, server.credential)
  const status = /^[45]\d\d$/.test(errorBody.code ?? '') ? Number(errorBody.code) : null
  const isRateLimited =
    status === 429 || [errorBody.code, errorBody.type].some((word) => /rate_limit|quota/.test(word ?? ''))
  if (isRateLimited) return createStatusError(server, 429, errorBody, null)
  const message = `The provider "${server.provider}" failed in the middle of its answer.`
  return new ProviderError('failed', message, { cause: new Error(errorBody.message) })
}

function readRetrySeconds(reply: UpstreamResponse): number | null {
  const ms = parseRetryAfterMs(reply)
  return ms === null ? null : Math.min(MAX_RETRY_SECONDS, Math.ceil(ms / 1_000))
}

function createStatusError(
  server: ServerCredentials,
  status: number,
  errorBody: OpenAiErrorBody,
  retry_after_seconds: number | null,
): ProviderError {
  const { fault, text } = classifyError(server, status, errorBody)
  const param = fault === 'rejected' || fault === 'not_found' ? errorBody.param : null
  const cause = new Error(`${status}: ${errorBody.message}`)
  return new ProviderError(fault, `The provider "${server.provider}" ${text}`, { param, retry_after_seconds, cause })
}

function classifyError(
  server: ServerCredentials,
  status: number,
  errorBody: OpenAiErrorBody,
): { fault: ProviderFault; text: string } {
  const { message } = errorBody
  if (status === 401 || status === 403) return { fault: 'no_key', text: explainKeyError(server, status) }
  if (status === 429)
    return [errorBody.code, errorBody.type].includes('insufficient_quota')
      ? { fault: 'rate_limited', text: 'says that the quota of its account is used up.' }
      : { fault: 'rate_limited', text: 'is asked too often. Try again later.' }
  if (status === 402) return { fault: 'failed', text: 'says that its account has no credit left.' }
  if (status === 408) return { fault: 'timed_out', text: 'says that the request took too long.' }
  if (status === 404 && !errorBody.own) return { fault: 'failed', text: 'has no such route at its base URL.' }
  if (
    status === 404 &&
    MODEL_NOT_FOUND_PATTERNS.some((words) => words.test(errorBody.code ?? '') || words.test(message))
  )
    return { fault: 'not_found', text: `has no such model: ${message}` }
  if (status === 405 || status === 501) return { fault: 'failed', text: 'does not support this operation.' }
  if (status >= 500) return { fault: 'failed', text: `failed to answer (status ${status}).` }
  if (status < 400) return { fault: 'failed', text: `redirects requests (status ${status}): check its base URL.` }
  if (message === '') return { fault: 'rejected', text: `refused the request (status ${status}).` }
  return { fault: 'rejected', text: `refused the request: ${message}` }
}

function explainKeyError({ secret, credential }: ServerCredentials, status: number): string {
  if (secret === null) return `does not allow this (status ${status}).`
  if (credential === null) return `needs the secret "${secret}". ${explainMissingKey(secret)}`
  return status === 401
    ? `refused the key in the secret "${secret}".`
    : `does not allow this with the key in the secret "${secret}".`
}
