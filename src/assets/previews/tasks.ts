// What there is to see of which content, and the task that looks.
import { essenceOf } from '../content-type.ts'

export interface PreviewTask {
  readonly task: 'preview.image' | 'preview.pdf' | 'preview.wav'
  /** How many bytes are read, from the beginning. Where they are not all of a longer content, `partial` says whether these will do. */
  readonly bytes: number
  readonly partial?: true
}

const MEGABYTE = 1024 * 1024
const IMAGE_TASK: PreviewTask = { task: 'preview.image', bytes: 32 * MEGABYTE }

const TASKS: Readonly<Record<string, PreviewTask>> = {
  'image/png': IMAGE_TASK,
  'image/jpeg': IMAGE_TASK,
  'image/gif': IMAGE_TASK,
  'image/webp': IMAGE_TASK,
  'image/tiff': IMAGE_TASK,
  'image/avif': IMAGE_TASK,
  // It is text of which a few megabytes may ask for endless work, drawn without files and network: the library has neither an address to start
  // from nor a way out.
  'image/svg+xml': { task: 'preview.image', bytes: 2 * MEGABYTE },
  'application/pdf': { task: 'preview.pdf', bytes: 32 * MEGABYTE },
  'audio/wav': { task: 'preview.wav', bytes: MEGABYTE / 16, partial: true },
}

/** How to look at content, or null where there is nothing to see, or more than anybody reads for it. */
export function findPreviewTask({ content_type, size }: { content_type: string; size: number }): PreviewTask | null {
  const essence = essenceOf(content_type)
  const look = Object.hasOwn(TASKS, essence) ? TASKS[essence]! : null
  return look && size > 0 && (look.partial || size <= look.bytes) ? look : null
}
