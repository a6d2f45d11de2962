// The limits of work on files, and the number of its processes.
import { availableParallelism } from 'node:os'

export interface MediaLimits {
  /** The most processes at the same time. */
  readonly processes: number
  /** All memory of one process, in bytes. Only Linux tells it; elsewhere the limits of the heap and of the libraries apply. */
  readonly memory_bytes: number
  /** The JavaScript heap, in megabytes: less than all memory. */
  readonly heap_mb: number
  /** For a task, in milliseconds, with the start of its process. */
  readonly time_limit_ms: number
  /** After so many tasks a process is replaced. */
  readonly tasks: number
  /** How long an idle process is kept, in milliseconds. */
  readonly idle_ms: number
}

const MEGABYTE = 1024 * 1024

export const MEDIA_LIMITS: MediaLimits = {
  processes: Math.min(4, Math.max(2, availableParallelism())),
  memory_bytes: 768 * MEGABYTE,
  heap_mb: 384,
  time_limit_ms: 60_000,
  tasks: 200,
  idle_ms: 30_000,
}

/** A process with more memory is not kept for another task, since the memory of a process rarely shrinks. */
export const MOST_IDLE_BYTES = 384 * MEGABYTE

/** The interval of memory checks of a busy process, in milliseconds. */
export const MEMORY_CHECK_MS = 25
