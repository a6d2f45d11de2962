// UrlSigner signs download URLs. A signature lets any client read one key until it expires, without another credential.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { storageUri } from './storage-keys.ts'

/** The parameters of a signed query. */
export interface SignedQuery {
  readonly expires?: unknown
  readonly signature?: unknown
  readonly token_id?: unknown
}

export class UrlSigner {
  readonly #secret: Uint8Array

  /** `secret`: at least 32 bytes that are used for nothing else. */
  constructor(secret: Uint8Array) {
    if (secret.length < 32) throw new RangeError('the signing secret must have at least 32 bytes')
    this.#secret = secret
  }

  /**
   * Returns the URL that reads a key until `expires`, in whole seconds since the epoch. With `token_id`, it holds only while that token is
   * valid.
   */
  signUrl(storage_key: string, expires: number, token_id: string | null = null): string {
    const signature = this.#sign(storage_key, String(expires), token_id).toString('base64url')
    const token = token_id === null ? '' : `&token_id=${encodeURIComponent(token_id)}`
    return `${storageUri(storage_key)}?expires=${expires}${token}&signature=${signature}`
  }

  /**
   * Checks whether a query authorises a read of the key at `now`, in milliseconds since the epoch. Returns the id of the token that
   * requested the URL, which has to be valid as well. Returns null if the signature is wrong, expired or malformed.
   */
  verify(storage_key: string, query: SignedQuery, now: number): { token_id: string | null } | null {
    const { expires, signature, token_id = null } = query
    if (typeof expires !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(expires)) return null
    if (token_id !== null && (typeof token_id !== 'string' || !/^[\x21-\x7e]{1,512}$/.test(token_id))) return null
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#sign(storage_key, expires, token_id)
    const same = given.length === expected.length && timingSafeEqual(given, expected)
    return same && Number(expires) * 1_000 > now ? { token_id } : null
  }

  // Neither digits nor token ids contain a line break or a space, so no two URLs are signed as the same text.
  #sign(storage_key: string, expires: string, token_id: string | null): Buffer {
    const head = token_id === null ? expires : `${expires} ${token_id}`
    return createHmac('sha256', this.#secret).update(`${head}\n${storage_key}`).digest()
  }
}
