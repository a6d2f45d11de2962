// Encryption at rest. The vault derives keys for single purposes from one master key, and seals bytes under them. open-vault.ts chooses the
// master key, and the owners of the data store the sealed bytes.
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'

/** Sealed bytes cannot be opened: they are damaged, were moved to another place, or were sealed under another key. */
export class VaultError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VaultError'
  }
}

/** Seals and opens bytes under one key. `context` says where the bytes belong, such as the key of a row; they do not open in another context. */
export interface Cipher {
  /** Adds 33 bytes. */
  seal(plain: Uint8Array, context: string): Uint8Array
  /** @throws VaultError */
  open(sealed: Uint8Array, context: string): Uint8Array
}

// Sealed bytes: version (1), key id (4), nonce (12), as many bytes as were sealed, tag (16).
const VERSION = 1
const HEADER = 5
const NONCE = 12
const TAG = 16
const OVERHEAD = HEADER + NONCE + TAG
const ALGORITHM = 'aes-256-gcm'

/** Returns the key id in sealed bytes, as 8 hexadecimal characters, to compare with the `key_id` of a vault. @throws VaultError */
export function readKeyId(sealed: Uint8Array): string {
  if (sealed.length < OVERHEAD) throw new VaultError('sealed bytes are cut off')
  if (sealed[0] !== VERSION) throw new VaultError(`sealed bytes have the unknown version ${sealed[0]}`)
  return toBuffer(sealed).toString('hex', 1, HEADER)
}

/** Derives keys from one master key by HKDF-SHA256 (RFC 5869), with the purpose as its info. */
export class Vault {
  /** Identifies the master key without revealing anything else about it: 16 hexadecimal characters. */
  readonly fingerprint: string
  /** The key id in sealed bytes: the first half of the fingerprint. */
  readonly key_id: string
  readonly #master: Uint8Array
  readonly #ciphers = new Map<string, Cipher>()
  readonly #nonces = new NoncePool()

  /** `master`: at least 16 bytes that cannot be guessed. */
  constructor(master: Uint8Array) {
    this.#master = Uint8Array.from(master)
    this.fingerprint = this.#derive('fingerprint', 8).toString('hex')
    this.key_id = this.fingerprint.slice(0, 8)
  }

  /** Returns the cipher for one kind of content, such as `journal`. No cipher opens what another one sealed. */
  cipher(purpose: string): Cipher {
    let cipher = this.#ciphers.get(purpose)
    if (!cipher) {
      cipher = this.#cipherUnder(`seal ${purpose}`)
      this.#ciphers.set(purpose, cipher)
    }
    return cipher
  }

  /** Returns the cipher for one kind of content of one user. It is derived at each call, because there may be any number of users. */
  userCipher(purpose: string, user_id: string): Cipher {
    // The info of a key is limited in length, and a user id is not.
    return this.#cipherUnder(`seal ${purpose} of ${hash('sha256', user_id)}`)
  }

  #cipherUnder(info: string): Cipher {
    return createGcmCipher(createSecretKey(this.#derive(info, 32)), this.key_id, this.#nonces)
  }

  /** Returns 32 bytes for signing one kind of content. */
  signingKey(purpose: string): Uint8Array {
    return this.#derive(`sign ${purpose}`, 32)
  }

  #derive(info: string, bytes: number): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#master, 'svc vault', info, bytes))
  }
}

// AES-256-GCM (NIST SP 800-38D) with random nonces. The header and the context are authenticated along with the content.
function createGcmCipher(key: KeyObject, key_id: string, nonces: NoncePool): Cipher {
  const header = Buffer.concat([Buffer.from([VERSION]), Buffer.from(key_id, 'hex')])
  const authenticated = (context: string) => Buffer.concat([header, Buffer.from(context)])
  return {
    seal(plain, context) {
      const sealed = Buffer.allocUnsafeSlow(plain.length + OVERHEAD)
      sealed.set(header)
      const nonce = sealed.subarray(HEADER, HEADER + NONCE)
      nonces.next(nonce)
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG }).setAAD(authenticated(context))
      sealed.set(cipher.update(plain), HEADER + NONCE)
      cipher.final()
      sealed.set(cipher.getAuthTag(), sealed.length - TAG)
      return sealed
    },
    open(sealed, context) {
      const used = readKeyId(sealed)
      if (used !== key_id)
        throw new VaultError(`sealed bytes belong to the key ${used}, and the present one is ${key_id}`)
      const bytes = toBuffer(sealed)
      const nonce = bytes.subarray(HEADER, HEADER + NONCE)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG }).setAAD(authenticated(context))
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG))
      try {
        const plain = decipher.update(bytes.subarray(HEADER + NONCE, bytes.length - TAG))
        decipher.final()
        return plain
      } catch (cause) {
        throw new VaultError('sealed bytes are damaged, or belong elsewhere', { cause })
      }
    },
  }
}

/** Number of nonces that are generated at once, because calling the random source costs more than its bytes. */
const NONCES_AT_ONCE = 256

class NoncePool {
  readonly #pool = Buffer.alloc(NONCE * NONCES_AT_ONCE)
  #next = this.#pool.length

  next(into: Uint8Array): void {
    if (this.#next === this.#pool.length) {
      randomFillSync(this.#pool)
      this.#next = 0
    }
    into.set(this.#pool.subarray(this.#next, this.#next + NONCE))
    this.#next += NONCE
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
