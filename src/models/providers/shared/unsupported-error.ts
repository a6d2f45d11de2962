// Errors for request fields that a vendor does not support, with messages that are safe to show.
import { ProviderError } from '../../provider-error.ts'

/** Names from requests are cut after so many characters. */
const MAX_SHOWN_NAME = 100

/** `why` follows the provider's name in the message: "takes no files by id". */
export function createUnsupportedError(provider: string, param: string, why: string): ProviderError {
  return new ProviderError('unsupported', `The provider "${provider}" ${why}.`, { param })
}

export function truncateToolName(name: string): string {
  return name.slice(0, MAX_SHOWN_NAME)
}
