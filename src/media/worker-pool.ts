// Work on files in processes of their own.
import type { MediaAccess, MediaResult, MediaTask } from '../engine/node-api/node-services.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { MEDIA_LIMITS, type MediaLimits } from './limits.ts'
import { MediaWorker } from './worker-process.ts'

export interface MediaPoolOptions extends Partial<MediaLimits> {
  /** What a process runs. */
  readonly script?: URL
  /** Told, for the log, of what is nobody's file's fault. */
  reportFailure?(detail: string): void
}

export type MediaPool = MediaAccess & AsyncDisposable

/** Starts nothing before there is a task; ends everything when disposed of. */
export function createMediaPool({
  script,
  reportFailure: failed = () => {},
  ...given
}: MediaPoolOptions = {}): MediaPool {
  const limits = { ...MEDIA_LIMITS, ...given }
  const { processes: workers, idle_ms } = limits
  return new WorkerPool<MediaTask, MediaResult>({ workers, idle_ms }, () => new MediaWorker(limits, failed, script))
}
