// How much work on files may take, and how many processes do it.
import { availableParallelism } from 'node:os'

export interface MediaLimits {
  /** Processes that work at the same time. */
  readonly processes: number
  /** All memory of one of them, in bytes. Known on Linux alone; elsewhere the heap's limit and those of the libraries hold. */
  readonly memory_bytes: number
  /** The heap of values in JavaScript, in megabytes: less than all memory. */
  readonly heap_mb: number
  /** Until a task's end, in milliseconds, the start of its process included. */
  readonly time_limit_ms: number
  /** After so many tasks a process is replaced by a new one. */
  readonly tasks: number
  /** How long a process without work is kept, in milliseconds. */
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

/** Memory of a process rarely shrinks: one that has more than this is not kept for another task. */
export const MOST_IDLE_BYTES = 384 * MEGABYTE

/** How often the memory of a process at work is looked at, in milliseconds. */
export const MEMORY_CHECK_MS = 25
