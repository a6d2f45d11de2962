// Selects the keys of the provider's set that may verify signatures. The library would find an unusable key only with a token, in an error that is
// not about the token.
import { createPublicKey } from 'node:crypto'
import type { JWK } from 'jose'

const KEY_TYPES = ['RSA', 'EC', 'OKP']
/** RFC 7518, section 3.3. */
const MIN_RSA_BITS = 2048

/** The usable keys of a set (RFC 7517, section 5), and the number of unusable ones, without shared secrets and unknown key types. */
export function filterUsableKeys(body: unknown): { keys: JWK[]; left_out: number } {
  const members: unknown = (body as { keys?: unknown } | null)?.keys
  const all = Array.isArray(members) ? members.filter(hasKnownKeyType) : []
  const keys = all.filter(isUsable)
  return { keys, left_out: all.length - keys.length }
}

function hasKnownKeyType(key: unknown): key is JWK {
  return typeof key === 'object' && key !== null && KEY_TYPES.includes((key as { kty?: string }).kty ?? '')
}

/** Whether a key is valid, long enough, and has no private part, with which its readers could sign. */
function isUsable(key: JWK): boolean {
  if (key.d !== undefined) return false
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' })
    return key.kty !== 'RSA' || (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS
  } catch {
    return false
  }
}
