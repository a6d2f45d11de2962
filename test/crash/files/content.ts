// What the crash run stores: bytes that follow from a text, so that each part of them is known wherever it turns up.
import { createHash } from 'node:crypto'

export interface Content {
  readonly bytes: Buffer
  /** 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

/** `size` bytes that differ in every place, and from those of any other seed. */
export function contentOf(seed: string, size: number): Content {
  // A digest of no length is none.
  const bytes = size === 0 ? Buffer.alloc(0) : createHash('shake256', { outputLength: size }).update(seed).digest()
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** How a content, or null for none, is told of. */
export function named(content: Content | null): string {
  return content === null ? 'nothing' : `${content.sha256.slice(0, 12)} (${content.bytes.length} bytes)`
}
