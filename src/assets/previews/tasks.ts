// Maps content types to the tasks that generate their previews.
import { essenceOf } from '../content-type.ts'

export interface PreviewTask {
  readonly task: 'preview.image' | 'preview.pdf' | 'preview.wav'
  /** How many bytes are read, from the beginning. With `partial`, they are enough for longer content too. */
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
  // A few megabytes of SVG text may cause endless work. It is drawn without files and network: the library gets neither a base URL nor a
  // way to load anything.
  'image/svg+xml': { task: 'preview.image', bytes: 2 * MEGABYTE },
  'application/pdf': { task: 'preview.pdf', bytes: 32 * MEGABYTE },
  'audio/wav': { task: 'preview.wav', bytes: MEGABYTE / 16, partial: true },
}

/** Returns the preview task for content; null if the type has none, or the content is too large. */
export function findPreviewTask({ content_type, size }: { content_type: string; size: number }): PreviewTask | null {
  const essence = essenceOf(content_type)
  const task = Object.hasOwn(TASKS, essence) ? TASKS[essence]! : null
  return task && size > 0 && (task.partial || size <= task.bytes) ? task : null
}
