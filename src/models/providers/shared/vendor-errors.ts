// Converts a vendor's errors, and errors of the connection to it, to ProviderErrors whose messages are safe to show.

import { UpstreamFailure } from '../../../net/upstream/failure.ts'
import { truncateText } from '../../../shared/text-truncation.ts'
import { ProviderError, type ProviderFault } from '../../provider-error.ts'
import { createErrorTextRedactor } from './error-text-redaction.ts'

/** The error object of a vendor. */
export interface VendorErrorBody {
  /** The vendor's word for the error. */
  readonly type: string
  readonly message: string
}

interface NamedProvider {
  /** The provider's name. */
  readonly name: string
}

/** In characters, of a vendor's message. */
const MAX_SHOWN_LENGTH = 500
/** The message begins with a field that has the same name in OpenAI's form. */
const BLAMED_FIELD = /^\W*(temperature|top_p|max_tokens|messages|tools|tool_choice)\b/

/** Reads an error object, alone or in a list, as both vendors send it. */
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

/** Shows the vendor's own words only for a rejected request: they are about the caller's input. */
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

/** Converts any error of the connection or the answer to a ProviderError. */
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

/** The own property of an object; undefined where `value` is no object or lacks the property. */
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
