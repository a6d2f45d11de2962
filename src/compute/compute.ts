// Firings of pure node types that take long, in threads of their own: the main thread only sends the inputs and takes the outputs in.
import type { NodeType } from '../engine/node-type.ts'
import type { ComputeAccess, ComputeTask } from '../engine/services.ts'
import { builtinNodes } from '../nodes/registry.ts'
import { WorkerPool } from '../workers/pool.ts'
import { COMPUTE_LIMITS, type ComputeLimits } from './limits.ts'
import { Member } from './member.ts'

export interface ComputeOptions extends Partial<ComputeLimits> {
  /** What a worker runs. */
  readonly script?: URL
  /** Told, for the log, where a worker ends by itself. */
  failed?(detail: string): void
}

export type Compute = ComputeAccess & AsyncDisposable

/** What `run` of a type gives must follow from its inputs, at once. */
function isPure({ run, answered, effect, role, outputs }: NodeType): boolean {
  if (!run || answered || effect || role || run.length > 1 || outputs.some(({ stream }) => stream)) return false
  return run.constructor === Function
}

const SMALL = new Set(['int', 'float', 'bool', 'enum'])

/** Whether a firing of the type may ever take long. */
function mayTakeLong({ cost, properties, supports_dynamic_inputs }: NodeType): boolean {
  if (cost === 0) return false
  return (
    typeof cost === 'function' ||
    supports_dynamic_inputs === true ||
    !properties.every(({ type }) => SMALL.has(type.type))
  )
}

/** The built-in types whose firings may run apart. One that takes its context, or never takes long, is not among them. */
const TYPES: ReadonlySet<NodeType> = new Set(builtinNodes.all().filter((type) => isPure(type) && mayTakeLong(type)))

/** Starts nothing before there is a task; ends everything when disposed of. */
export function createCompute({ script, failed = () => {}, ...given }: ComputeOptions = {}): Compute {
  const limits = { ...COMPUTE_LIMITS, ...given }
  const pool = new WorkerPool<ComputeTask, Record<string, unknown>>(limits, () => new Member(limits, failed, script))
  return {
    takes: (type) => TYPES.has(type as NodeType),
    run: (task) => pool.run(task),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
