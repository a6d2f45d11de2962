// Converts errors of providers to errors of nodes.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { ProviderError, type ProviderFault } from '../provider-error.ts'

const NODE_CODES_BY_FAULT: Readonly<Record<ProviderFault, string>> = {
  unsupported: 'bad_input',
  rejected: 'bad_input',
  no_key: 'unknown_secret',
  not_found: 'model_not_found',
  rate_limited: 'rate_limited',
  failed: 'provider_failed',
  timed_out: 'provider_failed',
  too_large: 'too_large',
  over_budget: 'over_budget',
  unavailable: 'model_unavailable',
}

/** Replaces secrets that a model server quotes. */
export type RedactMessage = (message: string) => string

const UNCHANGED: RedactMessage = (message) => message

/** Converts a ProviderError to a NodeError; other errors stay as they are. */
export function toNodeError(error: unknown, redact = UNCHANGED): unknown {
  return error instanceof ProviderError
    ? new NodeError(redact(error.message), NODE_CODES_BY_FAULT[error.fault], { cause: error.cause ?? error })
    : error
}

/** Passes the parts on and converts a ProviderError to a NodeError. */
export async function* convertToNodeErrors<Part>(
  parts: AsyncGenerator<Part, void, void>,
  redact: RedactMessage,
): AsyncGenerator<Part, void, void> {
  try {
    yield* parts
  } catch (error) {
    throw toNodeError(error, redact)
  }
}
