// Converts errors of providers and nodes to ServiceErrors with codes of the catalogue.
import type { ErrorCode } from '../../generated/errors.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { copyServiceError, ServiceError } from '../errors.ts'
import { ProviderError, type ProviderFault } from '../models/provider-error.ts'
import { redactServiceError } from '../redaction/error-redaction.ts'
import type { Redactor } from '../redaction/redactor.ts'

/** The request field that causes an error of this code. */
const PARAM_OF_CODE: Partial<Record<ErrorCode, string>> = { MODEL_NOT_FOUND: 'model' }

const CODE_OF_FAULT: Readonly<Record<ProviderFault, ErrorCode>> = {
  unsupported: 'INVALID_REQUEST',
  rejected: 'INVALID_REQUEST',
  no_key: 'AUTHENTICATION_REQUIRED',
  not_found: 'MODEL_NOT_FOUND',
  rate_limited: 'RATE_LIMITED',
  failed: 'UPSTREAM_ERROR',
  timed_out: 'UPSTREAM_TIMEOUT',
  too_large: 'UPSTREAM_ERROR',
  over_budget: 'BUDGET_EXCEEDED',
  // A retry does not help, and no other provider can: the message says what is missing.
  unavailable: 'MODEL_NOT_FOUND',
}

/** The codes of the same failures when nodes report them. */
const CODE_OF_NODE_ERROR: Readonly<Record<string, ErrorCode>> = {
  bad_input: 'INVALID_REQUEST',
  bad_reference: 'INVALID_REQUEST',
  asset_not_found: 'INVALID_REQUEST',
  unknown_secret: 'AUTHENTICATION_REQUIRED',
  model_not_found: 'MODEL_NOT_FOUND',
  model_unavailable: 'MODEL_NOT_FOUND',
  rate_limited: 'RATE_LIMITED',
  over_budget: 'BUDGET_EXCEEDED',
  provider_failed: 'UPSTREAM_ERROR',
  too_large: 'UPSTREAM_ERROR',
  unavailable: 'SERVICE_UNAVAILABLE',
}

/** Converts a ProviderError or a NodeError to a ServiceError. Returns any other error unchanged. */
export function convertToServiceError(error: unknown): unknown {
  if (error instanceof ProviderError) return convertProviderError(error)
  if (error instanceof NodeError) {
    const code = CODE_OF_NODE_ERROR[error.type]
    const { message, cause } = error
    if (code) return new ServiceError(code, { message, param: PARAM_OF_CODE[code], cause: cause ?? error })
  }
  return error
}

/** Returns a copy of the error with more response headers. */
export function withErrorHeaders(error: unknown, more: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ServiceError) || Object.keys(more).length === 0) return error
  return copyServiceError(error, { headers: { ...error.headers, ...more } })
}

function convertProviderError(error: ProviderError): ServiceError {
  const { fault, message, param, retry_after_seconds: seconds } = error
  const headers: Record<string, string> =
    seconds === null ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) }
  // `cause` keeps the details that the client is not told: the log shows them with the provider's name.
  const code = CODE_OF_FAULT[fault]
  return new ServiceError(code, { message, param: param ?? PARAM_OF_CODE[code], headers, cause: error })
}

/** Yields the same parts, and converts errors with `convert`. */
export async function* convertErrors<Part>(
  parts: AsyncGenerator<Part, void, void>,
  convert: (error: unknown) => unknown = convertToServiceError,
): AsyncGenerator<Part, void, void> {
  try {
    yield* parts
  } catch (error) {
    throw convert(error)
  }
}

/** Like `convertToServiceError`. A server may quote any secret in its error, so the texts of a ServiceError are redacted. */
export function convertToRedactedError(error: unknown, redactor: Redactor): unknown {
  const converted = convertToServiceError(error)
  if (!(converted instanceof ServiceError)) return converted
  return redactServiceError(converted, (text) => redactor.foreignMessage(text))
}
