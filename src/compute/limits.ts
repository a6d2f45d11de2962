// The limits of the compute pool: number of threads and memory per thread.
import { availableParallelism } from 'node:os'
import type { WorkerPoolLimits } from '../workers/worker-pool.ts'

export interface ComputeLimits extends WorkerPoolLimits {
  /** The heap of one worker, in megabytes. */
  readonly heap_mb: number
}

export const COMPUTE_LIMITS: ComputeLimits = {
  workers: Math.min(4, Math.max(2, availableParallelism())),
  idle_ms: 30_000,
  heap_mb: 1_024,
}
