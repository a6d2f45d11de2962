// A file as a node gets it: whole, and no larger than it asked for. How references are shown in errors.
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { NodeError } from '../engine/node-error.ts'
import type { LoadedAsset } from '../engine/services.ts'
import type { ByteRange } from './object-store.ts'

/** What a reference shows of itself in an error. */
const SHOWN = 200

export interface LoadableFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  read(range: ByteRange): Promise<Readable | null>
}

/** All bytes of a file, or null where it was removed meanwhile. @throws NodeError `too_large` */
export async function loadedFrom(file: LoadableFile, max_bytes: number): Promise<LoadedAsset | null> {
  const { name, content_type, size } = file
  if (size > max_bytes)
    throw new NodeError(`The file has ${size} bytes, more than the ${max_bytes} that may be loaded.`, 'too_large')
  const stream = await file.read({ start: 0, length: size })
  return stream && { bytes: await buffer(stream), content_type, name }
}

/** `why` ends the sentence. */
export function notFound(reference: string, why = '.'): NodeError {
  return new NodeError(`There is no asset at ${shown(reference)}${why}`, 'asset_not_found')
}

export function shown(reference: string): string {
  return reference.length <= SHOWN ? reference : `${reference.slice(0, SHOWN)}…`
}
