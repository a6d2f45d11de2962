// Which members of the provider's set of keys may verify a signature. The library would find that out of each only when a token is
// signed with it, in errors that are not about the token.
import { createPublicKey } from 'node:crypto'
import type { JWK } from 'jose'

const KEY_TYPES = ['RSA', 'EC', 'OKP']
/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2048

/** The usable keys of a set (RFC 7517, section 5), and how many were left out, shared secrets and members of no known kind not counted. */
export function filterUsableKeys(body: unknown): { keys: JWK[]; left_out: number } {
  const given: unknown = (body as { keys?: unknown } | null)?.keys
  const all = Array.isArray(given) ? given.filter(hasKnownKeyType) : []
  const keys = all.filter(isUsable)
  return { keys, left_out: all.length - keys.length }
}

function hasKnownKeyType(key: unknown): key is JWK {
  return typeof key === 'object' && key !== null && KEY_TYPES.includes((key as { kty?: string }).kty ?? '')
}

/** Whether it can be read, is long enough, and holds nothing private: whoever reads that can sign. */
function isUsable(key: JWK): boolean {
  if (key.d !== undefined) return false
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' })
    return key.kty !== 'RSA' || (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS
  } catch {
    return false
  }
}
