// The digest of a file as its bytes come, and of one that is there.
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { HubFile } from './hub-file.ts'

/** As git counts it, the length goes before the content. */
export function beginDigest({ size, digest }: HubFile): Hash {
  return digest.kind === 'sha256' ? createHash('sha256') : createHash('sha1').update(`blob ${size}\0`)
}

/** Adds the first `length` bytes of a file. */
export async function addFile(hash: Hash, path: string, length: number, signal: AbortSignal): Promise<void> {
  if (length === 0) return
  for await (const piece of createReadStream(path, { end: length - 1, highWaterMark: 1 << 20, signal }))
    hash.update(piece as Buffer)
}
