// Encrypts content under a key that is used only once. The holder stores that key encrypted, so a change of the master key need not encrypt
// the content again. Deleting the key makes the content unreadable for good.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Steps } from '../shared/time-slices.ts'
import { VaultError } from './vault.ts'

// AES-256-GCM (NIST SP 800-38D). A key that is used once can use the nonce zero.
const ALGORITHM = 'aes-256-gcm'
const NONCE = new Uint8Array(12)
const TAG = 16
/** Bytes of one step; the process does other work in between. */
const CHUNK_BYTES = 1024 * 1024

/** Generates a key for one content. */
export function generateSingleUseKey(): Uint8Array {
  return Uint8Array.from(randomBytes(32))
}

/** Encrypts content that comes in parts. The result has as many bytes as the parts together, and a tag of 16 bytes. */
export function* sealChunks(key: Uint8Array, parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  const cipher = createCipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG })
  for (const part of parts)
    for (let at = 0; at < part.length; at += CHUNK_BYTES) yield cipher.update(part.subarray(at, at + CHUNK_BYTES))
  cipher.final()
  yield cipher.getAuthTag()
}

/**
 * Decrypts the content in place, which overwrites the encrypted bytes. A step decrypts one piece.
 * @throws VaultError if the content is damaged, cut off, or was sealed under another key
 */
export function* openContentSteps(key: Uint8Array, sealed: Buffer): Steps<Buffer> {
  if (sealed.length < TAG) throw new VaultError('sealed content is cut off')
  const decipher = createDecipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG })
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG))
  const content = sealed.subarray(0, sealed.length - TAG)
  try {
    for (let at = 0; at < content.length; at += CHUNK_BYTES) {
      content.set(decipher.update(content.subarray(at, at + CHUNK_BYTES)), at)
      yield
    }
    decipher.final()
    return content
  } catch (cause) {
    throw new VaultError('sealed content is damaged', { cause })
  }
}
