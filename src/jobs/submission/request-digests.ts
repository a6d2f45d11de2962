// The stored form of the hash of a request. Parameters are stored encrypted, and a plain hash beside them would let anyone with a backup find short ones
// by trying. So the hash is stored under a key that is derived from the master key (HMAC-SHA256, RFC 2104).
import { createHmac } from 'node:crypto'
import type { RequestKeys } from '../../db/request-keys.ts'

/** `hmac:`, the id of the master key, and 64 hexadecimal characters. Rows of earlier versions have a plain SHA-256. */
const KEYED_DIGEST = /^hmac:([0-9a-f]{8}):[0-9a-f]{64}$/

export class RequestDigests {
  readonly #keys: RequestKeys

  constructor(keys: RequestKeys) {
    this.#keys = keys
  }

  /** The form in which the SHA-256 of a request is stored. */
  protect(sha256: string): string {
    const { present, keys } = this.#keys
    return computeDigest(sha256, present, keys.get(present)!)
  }

  /**
   * Whether a stored form is that of a request. A form whose key is lost cannot be compared, and counts as the same: a client that repeats a request must
   * get its job.
   */
  mayBeSame(stored: string | null, sha256: string): boolean {
    if (stored === null) return false
    const key_id = KEYED_DIGEST.exec(stored)?.[1]
    if (key_id === undefined) return stored === sha256
    const key = this.#keys.keys.get(key_id)
    return key === undefined || stored === computeDigest(sha256, key_id, key)
  }
}

function computeDigest(sha256: string, key_id: string, key: Uint8Array): string {
  return `hmac:${key_id}:${createHmac('sha256', key).update(sha256).digest('hex')}`
}
