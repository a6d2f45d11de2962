// Firings of pure node types that take long, in threads of their own: the main thread only sends the inputs and takes the outputs in.

import type { ComputeAccess, ComputeTask } from '../engine/node-api/node-services.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import { WorkerPool } from '../workers/worker-pool.ts'
import { COMPUTE_LIMITS, type ComputeLimits } from './limits.ts'
import { ComputeWorker } from './worker-handle.ts'

export interface ComputePoolOptions extends Partial<ComputeLimits> {
  /** What a worker runs. */
  readonly script?: URL
  /** Told, for the log, where a worker ends by itself. */
  reportFailure?(detail: string): void
}

export type ComputePool = ComputeAccess & AsyncDisposable

/** What `run` of a type gives must follow from its inputs, at once. */
function isPure({ run, onAnswer: answered, effect, role, outputs }: NodeType): boolean {
  if (!run || answered || effect || role || run.length > 1 || outputs.some(({ stream }) => stream)) return false
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

/** The built-in types whose firings may run apart. One that takes its context, or never takes long, is not among them. */
const COMPUTE_NODE_TYPES: ReadonlySet<NodeType> = new Set(
  builtinRegistry.all().filter((type) => isPure(type) && mayTakeLong(type)),
)

/** Starts nothing before there is a task; ends everything when disposed of. */
export function createComputePool({
  script,
  reportFailure: failed = () => {},
  ...limitOptions
}: ComputePoolOptions = {}): ComputePool {
  const limits = { ...COMPUTE_LIMITS, ...limitOptions }
  const pool = new WorkerPool<ComputeTask, Record<string, unknown>>(
    limits,
    () => new ComputeWorker(limits, failed, script),
  )
  return {
    takes: (type) => COMPUTE_NODE_TYPES.has(type as NodeType),
    run: (task) => pool.run(task),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
