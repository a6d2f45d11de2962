// Runs long firings of pure node types in threads; the main thread only sends the inputs and reads the outputs.

import type { NodeType } from '../engine/node-api/node-type.ts'
import type { ComputeAccess, ComputeTask } from '../engine/node-api/services/compute.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { COMPUTE_LIMITS, type ComputeLimits } from './limits.ts'
import { ComputeWorker } from './worker-handle.ts'

export interface ComputePoolOptions extends Partial<ComputeLimits> {
  /** The script that a worker runs. */
  readonly script?: URL
  /** Called, for the log, when a worker ends unexpectedly. */
  reportFailure?(detail: string): void
}

export type ComputePool = ComputeAccess & AsyncDisposable

/** Whether the outputs of a type depend only on its inputs and are returned at once. */
function isPure({ run, onAnswer, effect, role, outputs }: NodeType): boolean {
  if (!run || onAnswer || effect || role || run.length > 1 || outputs.some(({ stream }) => stream)) return false
  return run.constructor === Function
}

const SMALL_TYPE_NAMES = new Set(['int', 'float', 'bool', 'enum'])

/** Whether a firing of the type may ever take long. */
function mayTakeLong({ cost, properties, supports_dynamic_inputs }: NodeType): boolean {
  if (cost === 0) return false
  return (
    typeof cost === 'function' ||
    supports_dynamic_inputs === true ||
    !properties.every(({ type }) => SMALL_TYPE_NAMES.has(type.type))
  )
}

/** The built-in types whose firings may run in a thread. Types that use their context, and types that are always fast, are excluded. */
const COMPUTE_NODE_TYPES: ReadonlySet<NodeType> = new Set(
  builtinRegistry.all().filter((type) => isPure(type) && mayTakeLong(type)),
)

/** Starts no thread before the first task; ends all threads when disposed of. */
export function createComputePool({
  script,
  reportFailure = () => {},
  ...limitOptions
}: ComputePoolOptions = {}): ComputePool {
  const limits = { ...COMPUTE_LIMITS, ...limitOptions }
  const pool = new WorkerPool<ComputeTask, Record<string, unknown>>(
    limits,
    () => new ComputeWorker(limits, reportFailure, script),
  )
  return {
    takes: (type) => COMPUTE_NODE_TYPES.has(type as NodeType),
    run: (task) => pool.run(task),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
