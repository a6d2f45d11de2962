// What there is to see of which content, and the task that looks.
import { essenceOf } from './content-type.ts'

export interface Look {
  readonly task: 'preview.image' | 'preview.pdf' | 'preview.wav'
  /** How many bytes are read, from the beginning. Where they are not all of a longer content, `partial` says whether these will do. */
  readonly bytes: number
  readonly partial?: true
}

const MEGABYTE = 1024 * 1024
const IMAGE: Look = { task: 'preview.image', bytes: 32 * MEGABYTE }

const LOOKS: Readonly<Record<string, Look>> = {
  'image/png': IMAGE,
  'image/jpeg': IMAGE,
  'image/gif': IMAGE,
  'image/webp': IMAGE,
  'image/tiff': IMAGE,
  'image/avif': IMAGE,
  // It is text of which a few megabytes may ask for endless work, drawn without files and network: the library has neither an address to start
  // from nor a way out.
  'image/svg+xml': { task: 'preview.image', bytes: 2 * MEGABYTE },
  'application/pdf': { task: 'preview.pdf', bytes: 32 * MEGABYTE },
  'audio/wav': { task: 'preview.wav', bytes: MEGABYTE / 16, partial: true },
}

/** How to look at content, or null where there is nothing to see, or more than anybody reads for it. */
export function lookAt({ content_type, size }: { content_type: string; size: number }): Look | null {
  const essence = essenceOf(content_type)
  const look = Object.hasOwn(LOOKS, essence) ? LOOKS[essence]! : null
  return look && size > 0 && (look.partial || size <= look.bytes) ? look : null
}
