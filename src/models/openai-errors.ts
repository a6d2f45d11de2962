// What servers that speak OpenAI's protocol refuse, and how they fail, as failures of providers: in our words, but for what is said of the
// request itself, which is the business of whoever sent it.
import { slices } from '../net/slices.ts'
import { retryAfterMs } from '../net/upstream.ts'
import { wholeBody } from '../net/upstream-body.ts'
import type { UpstreamReply } from '../net/upstream-exchange.ts'
import type { UpstreamFailure, UpstreamFault } from '../net/upstream-failure.ts'
import { type Told, toldIn } from './openai-told.ts'
import { keyCure, ProviderError, type ProviderFault } from './provider-error.ts'

/** Who was asked, and with what. */
export interface Asked {
  /** The provider's name. */
  readonly provider: string
  /** The name of the secret. */
  readonly secret: string | null
  readonly credential: string | null
}

/** What is read of the body of a refusal. */
const MOST_BYTES = 65_536
/** How long it is waited for, in milliseconds: the status says enough. */
const REASON_MS = 2_000
const LONGEST_WAIT_SECONDS = 86_400

/** How a 404 says that it is about the model: most by that word, Azure of its deployments, OpenRouter of the endpoints behind it. */
const NO_MODEL = [/\bmodel(?:\b|_)/i, /\bdeployment(?:\b|_|not)/i, /\bendpoints found\b/i]

const FAULTS: Readonly<Record<UpstreamFault, ProviderFault>> = {
  refused: 'failed',
  reset: 'failed',
  unknown_name: 'failed',
  insecure: 'failed',
  silent: 'timed_out',
  broken: 'failed',
  too_large: 'too_large',
  closed: 'failed',
}

/** Nobody answered, or not in full. */
export function unanswered({ provider }: Asked, failure: UpstreamFailure): ProviderError {
  const text = `The provider "${provider}" ${failure.message}.`
  // Its words are said: the log writes causes behind them.
  return new ProviderError(FAULTS[failure.fault], text, { cause: failure.cause ?? failure })
}

/** An answer that is none. */
export function senseless({ provider }: Asked, what: string, cause?: unknown): ProviderError {
  return new ProviderError('failed', `The provider "${provider}" sent ${what}.`, { cause })
}

/** Why an answer has another status than 200 to 299. Its body is read. */
export async function refusalOf(asked: Asked, reply: UpstreamReply): Promise<ProviderError> {
  const enough = setTimeout(() => reply.body.destroy(), REASON_MS)
  const body = await wholeBody(reply.body, MOST_BYTES).then(String, () => '')
  clearTimeout(enough)
  // Looking for a long key takes milliseconds, and dozens of requests may be refused at once.
  await slices.turn(asked.provider)
  return errorOf(asked, reply.status, toldIn(body, asked.credential), retrySeconds(reply))
}

/** An error object in the place of a piece of an answer: `{"error": …}`. */
export function errorInStream(asked: Asked, text: string): ProviderError {
  const told = toldIn(text, asked.credential)
  const status = /^[45]\d\d$/.test(told.code ?? '') ? Number(told.code) : null
  const limited = status === 429 || [told.code, told.type].some((word) => /rate_limit|quota/.test(word ?? ''))
  if (limited) return errorOf(asked, 429, told, null)
  const said = `The provider "${asked.provider}" failed in the middle of its answer.`
  return new ProviderError('failed', said, { cause: new Error(told.message) })
}

function retrySeconds(reply: UpstreamReply): number | null {
  const ms = retryAfterMs(reply)
  return ms === null ? null : Math.min(LONGEST_WAIT_SECONDS, Math.ceil(ms / 1_000))
}

function errorOf(asked: Asked, status: number, told: Told, retry_after_seconds: number | null): ProviderError {
  const { fault, text } = judged(asked, status, told)
  const param = fault === 'rejected' || fault === 'not_found' ? told.param : null
  const cause = new Error(`${status}: ${told.message}`)
  return new ProviderError(fault, `The provider "${asked.provider}" ${text}`, { param, retry_after_seconds, cause })
}

function judged(asked: Asked, status: number, told: Told): { fault: ProviderFault; text: string } {
  const { message } = told
  if (status === 401 || status === 403) return { fault: 'no_key', text: keyText(asked, status) }
  if (status === 429)
    return [told.code, told.type].includes('insufficient_quota')
      ? { fault: 'rate_limited', text: 'says that the quota of its account is used up.' }
      : { fault: 'rate_limited', text: 'is asked too often. Try again later.' }
  if (status === 402) return { fault: 'failed', text: 'says that its account has no credit left.' }
  if (status === 408) return { fault: 'timed_out', text: 'says that the request took too long.' }
  if (status === 404 && !told.own) return { fault: 'failed', text: 'has no such route at its base URL.' }
  if (status === 404 && NO_MODEL.some((words) => words.test(told.code ?? '') || words.test(message)))
    return { fault: 'not_found', text: `has no such model: ${message}` }
  if (status === 405 || status === 501) return { fault: 'failed', text: 'does not do what it was asked for.' }
  if (status >= 500) return { fault: 'failed', text: `failed to answer (status ${status}).` }
  if (status < 400) return { fault: 'failed', text: `sends requests elsewhere (status ${status}): check its base URL.` }
  if (message === '') return { fault: 'rejected', text: `refused the request (status ${status}).` }
  return { fault: 'rejected', text: `refused the request: ${message}` }
}

function keyText({ secret, credential }: Asked, status: number): string {
  if (secret === null) return `does not allow this (status ${status}).`
  if (credential === null) return `needs the secret "${secret}". ${keyCure(secret)}`
  return status === 401
    ? `refused the key in the secret "${secret}".`
    : `does not allow this with the key in the secret "${secret}".`
}
