// What a vendor says went wrong, or what went wrong on the way to it, in words that are safe to show.

import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import { truncateText } from '../../../shared/text-truncation.ts'
import { ProviderError, type ProviderFault } from '../../provider-error.ts'
import { createErrorTextRedactor } from './error-text-redaction.ts'

/** What a vendor says of an error. */
export interface VendorErrorBody {
  /** The word that it has for it. */
  readonly type: string
  readonly message: string
}

interface NamedProvider {
  /** Of the provider. */
  readonly name: string
}

/** How much of a vendor's own words is shown. */
const MAX_SHOWN_LENGTH = 500
/** Fields that have the same name there, where what is said begins with them. */
const BLAMED_FIELD = /^\W*(temperature|top_p|max_tokens|messages|tools|tool_choice)\b/

/** What an error object says, alone or in a list, as both vendors send it. */
export function parseVendorError(given: unknown): VendorErrorBody {
  const body = typeof given === 'string' ? parseJsonOrNull(given) : given
  const first: unknown = Array.isArray(body) ? body[0] : body
  const error = readField(first, 'error')
  const [type, status, message] = [readField(error, 'type'), readField(error, 'status'), readField(error, 'message')]
  return {
    type: typeof type === 'string' ? type : typeof status === 'string' ? status : '',
    message: typeof message === 'string' ? message : '',
  }
}

interface VendorErrorDetails {
  readonly credential: string | null
  readonly retry_after_seconds?: number | null
  readonly cause?: unknown
}

/** What went wrong. Only of a request that is wrong the vendor's own words are shown: they are of what the caller sent. */
export function createVendorError(
  { name }: NamedProvider,
  fault: ProviderFault,
  { message }: VendorErrorBody,
  { credential, retry_after_seconds = null, cause }: VendorErrorDetails,
): ProviderError {
  const masked = createErrorTextRedactor(credential)(message.trim())
  const words = truncateText(masked, MAX_SHOWN_LENGTH)
  const texts: Partial<Record<ProviderFault, string>> = {
    rejected: `The provider "${name}" refused the request${words ? `: ${words}` : '.'}`,
    no_key: `The provider "${name}" refused its key.`,
    not_found: `The provider "${name}" does not have this model, or not for this key.`,
    rate_limited: `The provider "${name}" is asked too often.`,
    timed_out: `The provider "${name}" did not answer in time.`,
  }
  const text = texts[fault] ?? `The provider "${name}" failed to answer.`
  const param = fault === 'rejected' ? (BLAMED_FIELD.exec(message)?.[1] ?? null) : null
  return new ProviderError(fault, text, { param, retry_after_seconds, cause: cause ?? new Error(masked) })
}

/** Whatever went wrong on the way, as a ProviderError. */
export function toVendorError({ name }: NamedProvider, cause: unknown): ProviderError {
  if (cause instanceof ProviderError) return cause
  if (!(cause instanceof UpstreamFailure))
    return new ProviderError('failed', `The provider "${name}" sent an answer that is not understood.`, { cause })
  const faults: Partial<Record<UpstreamFailure['fault'], ProviderFault>> = {
    silent: 'timed_out',
    too_large: 'too_large',
  }
  const text = `The provider "${name}" ${cause.message}.`
  return new ProviderError(faults[cause.fault] ?? 'failed', text, { cause: cause.cause ?? cause })
}

/** What stands in an object under a name; undefined where it is none, or has nothing of its own there. */
export function readField(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
