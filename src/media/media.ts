// Work on files in processes of their own.
import type { MediaAccess, MediaResult, MediaTask } from '../engine/services.ts'
import { WorkerPool } from '../workers/pool.ts'
import { MEDIA_LIMITS, type MediaLimits } from './limits.ts'
import { Member } from './member.ts'

export interface MediaOptions extends Partial<MediaLimits> {
  /** What a process runs. */
  readonly script?: URL
  /** Told, for the log, of what is nobody's file's fault. */
  failed?(detail: string): void
}

export type Media = MediaAccess & AsyncDisposable

/** Starts nothing before there is a task; ends everything when disposed of. */
export function createMedia({ script, failed = () => {}, ...given }: MediaOptions = {}): Media {
  const limits = { ...MEDIA_LIMITS, ...given }
  const { processes: workers, idle_ms } = limits
  return new WorkerPool<MediaTask, MediaResult>({ workers, idle_ms }, () => new Member(limits, failed, script))
}
