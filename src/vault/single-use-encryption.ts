// Content that is sealed under a key of its own, which seals nothing else: whoever keeps that key in sealed bytes has nothing to seal
// anew when the master key changes, and whoever forgets it makes the content unreadable for good.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Steps } from '../shared/time-slices.ts'
import { VaultError } from './vault.ts'

// AES-256-GCM (NIST SP 800-38D). A key that serves once needs no other nonce than zero.
const ALGORITHM = 'aes-256-gcm'
const NONCE = new Uint8Array(12)
const TAG = 16
/** What is sealed at once: the process has other things to do in between. */
const CHUNK_BYTES = 1024 * 1024

/** A key for one content. */
export function generateSingleUseKey(): Uint8Array {
  return Uint8Array.from(randomBytes(32))
}

/** The sealed form of content that comes in parts, piece by piece: as many bytes as they have together, and a tag of 16. */
export function* sealChunks(key: Uint8Array, parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  const cipher = createCipheriv(ALGORITHM, key, NONCE, { authTagLength: TAG })
  for (const part of parts)
    for (let at = 0; at < part.length; at += CHUNK_BYTES) yield cipher.update(part.subarray(at, at + CHUNK_BYTES))
  cipher.final()
  yield cipher.getAuthTag()
}

/**
 * The content, in the place of the sealed bytes, which are gone then. A step opens one piece.
 * @throws VaultError where it is damaged, cut off, or was sealed under another key
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
