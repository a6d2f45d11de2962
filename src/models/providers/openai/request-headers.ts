// Makes the headers of a request to a server that speaks OpenAI's protocol.

import { ProviderError } from '../../provider-error.ts'
import type { ServerCredentials } from './errors.ts'

/** A key that a header can carry (RFC 9110 §5.5). */
const HEADER_SAFE_KEY = /^[\x21-\x7e]+$/

/** @throws ProviderError where no header can carry the key */
export function createRequestHeaders(
  { provider, secret, credential }: ServerCredentials,
  hasBody: boolean,
): Record<string, string> {
  const key = credential?.trim() ?? ''
  if (key !== '' && !HEADER_SAFE_KEY.test(key)) {
    const text = `The secret "${secret}" of the provider "${provider}" has characters that a header cannot carry.`
    throw new ProviderError('no_key', text)
  }
  return {
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(hasBody ? { 'content-type': 'application/json' } : {}),
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
  }
}
