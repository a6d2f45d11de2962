// Signatures of download addresses: whoever has one may read one key until it expires, without any other credential.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { storageUri } from './storage-keys.ts'

/** As they stand in a query. */
export interface SignedQuery {
  readonly expires?: unknown
  readonly signature?: unknown
  readonly token_id?: unknown
}

export class UrlSigner {
  readonly #secret: Uint8Array

  /** `secret` are at least 32 bytes that serve nothing else. */
  constructor(secret: Uint8Array) {
    if (secret.length < 32) throw new RangeError('a secret for signatures has at least 32 bytes')
    this.#secret = secret
  }

  /** The address that reads a key until `expires`, in whole seconds since the epoch, and while the token with `token_id`, if any, is good. */
  signUrl(storage_key: string, expires: number, token_id: string | null = null): string {
    const signature = this.#sign(storage_key, String(expires), token_id).toString('base64url')
    const token = token_id === null ? '' : `&token_id=${encodeURIComponent(token_id)}`
    return `${storageUri(storage_key)}?expires=${expires}${token}&signature=${signature}`
  }

  /**
   * Whether a query authorises reading the key at `now` (milliseconds since the epoch), and with which token the URL was asked for, which has to be
   * good as well. Null: it does not. What is malformed does not.
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

  // Neither digits nor the id of a token hold a line break or a space, so no two URLs are signed as the same text.
  #sign(storage_key: string, expires: string, token_id: string | null): Buffer {
    const head = token_id === null ? expires : `${expires} ${token_id}`
    return createHmac('sha256', this.#secret).update(`${head}\n${storage_key}`).digest()
  }
}
