// The pool of processes that work on files.
import type { MediaAccess, MediaResult, MediaTask } from '../engine/node-api/services/media.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { MEDIA_LIMITS, type MediaLimits } from './limits.ts'
import { MediaWorker } from './worker-process.ts'

export interface MediaPoolOptions extends Partial<MediaLimits> {
  /** The entry point of the processes. */
  readonly script?: URL
  /** Receives, for the log, failures that no file causes. */
  reportFailure?(detail: string): void
}

export type MediaPool = MediaAccess & AsyncDisposable

/** Starts no process before the first task. Disposing the pool ends all processes. */
export function createMediaPool({ script, reportFailure = () => {}, ...options }: MediaPoolOptions = {}): MediaPool {
  const limits = { ...MEDIA_LIMITS, ...options }
  const { processes: workers, idle_ms } = limits
  return new WorkerPool<MediaTask, MediaResult>(
    { workers, idle_ms },
    () => new MediaWorker(limits, reportFailure, script),
  )
}
