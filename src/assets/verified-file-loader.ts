// Loads a whole file for a node, up to the size that the node allows, and formats references for errors.
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { NodeError } from '../engine/node-api/node-error.ts'
import type { LoadedAsset } from '../engine/node-api/services/assets.ts'
import { truncateText } from '../shared/text-truncation.ts'
import type { ByteRange } from './stores/object-store.ts'

/** Characters of a reference that an error shows. */
const SHOWN_CHARACTERS = 200

export interface LoadableFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  /** The digest of the bytes. */
  readonly sha256: string
  read(range: ByteRange): Promise<Readable | null>
}

/**
 * Returns all bytes of a file, or null if it was removed meanwhile. `trackHeldBytes`: see AssetAccess.
 * @throws NodeError `too_large`, `data_damaged`
 */
export async function loadVerifiedFile(
  file: LoadableFile,
  max_bytes: number,
  trackHeldBytes: (bytes: number) => void = () => {},
): Promise<LoadedAsset | null> {
  const { name, content_type, size } = file
  if (size > max_bytes)
    throw new NodeError(`The file has ${size} bytes, more than the ${max_bytes} that may be loaded.`, 'too_large')
  trackHeldBytes(size)
  try {
    const stream = await file.read({ start: 0, length: size })
    return stream && { bytes: await readVerified(stream, file), content_type, name }
  } finally {
    trackHeldBytes(-size)
  }
}

/**
 * Reads a stream and verifies the digest of the file. Each piece is copied into place as it arrives, because joining a hundred megabytes
 * takes long.
 */
async function readVerified(stream: Readable, { name, sha256, size }: LoadableFile): Promise<Buffer> {
  const hash = createHash('sha256')
  const bytes = Buffer.allocUnsafeSlow(size)
  let read = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    hash.update(piece)
    read += piece.copy(bytes, read)
  }
  if (read === size && hash.digest('hex') === sha256) return bytes
  throw new NodeError(`The bytes of "${name}" are damaged: they are not those that were stored.`, 'data_damaged')
}

/** `why` is the end of the sentence. */
export function assetNotFoundError(reference: string, why = '.'): NodeError {
  return new NodeError(`There is no asset at ${shortenReference(reference)}${why}`, 'asset_not_found')
}

export function shortenReference(reference: string): string {
  return truncateText(reference, SHOWN_CHARACTERS)
}
