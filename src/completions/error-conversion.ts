// Failures of providers and of what stands before them, with the codes of the catalogue.
import type { ErrorCode } from '../../generated/errors.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { ServiceError } from '../errors.ts'
import { ProviderError, type ProviderFault } from '../models/provider-error.ts'

/** The field that is to blame for what is no model here, whoever says so. */
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
  // Nobody else can help, and asking again does not: the words say what is lacking.
  unavailable: 'MODEL_NOT_FOUND',
}

/** The same failures where code of nodes tells them. */
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

/** A ProviderError or a NodeError as a ServiceError; anything else as it is. */
export function convertToServiceError(error: unknown): unknown {
  if (error instanceof ProviderError) return convertProviderError(error)
  if (error instanceof NodeError) {
    const code = CODE_OF_NODE_ERROR[error.type]
    const { message, cause } = error
    if (code) return new ServiceError(code, { message, param: PARAM_OF_CODE[code], cause: cause ?? error })
  }
  return error
}

/** The same error, which says more at its door. */
export function withErrorHeaders(error: unknown, more: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ServiceError) || Object.keys(more).length === 0) return error
  const { code, message, problems, headers, param, job_id } = error
  const cause = error.cause ?? error
  return new ServiceError(code, {
    message,
    problems,
    param: param ?? undefined,
    job_id: job_id ?? undefined,
    headers: { ...headers, ...more },
    cause,
  })
}

function convertProviderError(error: ProviderError): ServiceError {
  const { fault, message, param, retry_after_seconds: seconds } = error
  const headers: Record<string, string> =
    seconds === null ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) }
  // What its client is not told of a failure is in the log, and the provider's name with it.
  const code = CODE_OF_FAULT[fault]
  return new ServiceError(code, { message, param: param ?? PARAM_OF_CODE[code], headers, cause: error })
}

/** The same parts, whose failures are ServiceErrors. */
export async function* convertErrors<Part>(parts: AsyncGenerator<Part, void, void>): AsyncGenerator<Part, void, void> {
  try {
    yield* parts
  } catch (error) {
    throw convertToServiceError(error)
  }
}
