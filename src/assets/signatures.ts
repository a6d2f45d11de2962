// Signatures of download addresses: whoever has one may read one key until it expires, without any other credential.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { uriOf } from './keys.ts'

export class Signatures {
  readonly #secret: Uint8Array

  /** `secret` are at least 32 bytes that serve nothing else. */
  constructor(secret: Uint8Array) {
    if (secret.length < 32) throw new RangeError('a secret for signatures has at least 32 bytes')
    this.#secret = secret
  }

  /** The address that reads a key until `expires`, in whole seconds since the epoch. */
  url(storage_key: string, expires: number): string {
    const signature = this.#sign(storage_key, String(expires)).toString('base64url')
    return `${uriOf(storage_key)}?expires=${expires}&signature=${signature}`
  }

  /** Whether both, as they stand in a query, authorise reading the key at `now` (milliseconds since the epoch). What is malformed does not. */
  hold(storage_key: string, expires: unknown, signature: unknown, now: number): boolean {
    if (typeof expires !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(expires)) return false
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#sign(storage_key, expires)
    const same = given.length === expected.length && timingSafeEqual(given, expected)
    return same && Number(expires) * 1_000 > now
  }

  // Digits hold no line break, so no two pairs of a time and a key are signed as the same text.
  #sign(storage_key: string, expires: string): Buffer {
    return createHmac('sha256', this.#secret).update(`${expires}\n${storage_key}`).digest()
  }
}
