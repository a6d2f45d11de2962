// What a vendor cannot be asked, in words that are safe to show.
import { ProviderError } from '../../provider-error.ts'

/** Names of others are cut off after so many characters. */
const MAX_SHOWN_NAME = 100

/** `why` goes on after the provider's name: "takes no names of those who speak". */
export function createUnsupportedError(provider: string, param: string, why: string): ProviderError {
  return new ProviderError('unsupported', `The provider "${provider}" ${why}.`, { param })
}

export function truncateToolName(name: string): string {
  return name.slice(0, MAX_SHOWN_NAME)
}
