// The stored contents of the crash run. They are derived from a text, so every part of them can be recognized.
import { createHash } from 'node:crypto'

export interface Content {
  readonly bytes: Buffer
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

/** Returns `size` bytes that differ at every offset, and from those of any other seed. */
export function contentOf(seed: string, size: number): Content {
  // A digest of length zero is empty.
  const bytes = size === 0 ? Buffer.alloc(0) : createHash('shake256', { outputLength: size }).update(seed).digest()
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Describes a content, or null for none. */
export function named(content: Content | null): string {
  return content === null ? 'nothing' : `${content.sha256.slice(0, 12)} (${content.bytes.length} bytes)`
}
