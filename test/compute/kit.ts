// Compute threads, and firings as the engine would run them, for tests.
import { type ComputePool, createComputePool } from '../../src/compute/worker-pool.ts'
import type { ComputeTask } from '../../src/engine/node-api/services/compute.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'

export const compute: ComputePool = createComputePool({ workers: 2 })

/** The inputs of a firing, with defaults filled in. */
export function inputsOf(node_type: string, given: Record<string, unknown>): Record<string, unknown> {
  const defaults = builtinRegistry.get(node_type)!.properties.map(({ name, default: own = null }) => [name, own])
  return { ...Object.fromEntries(defaults), ...given }
}

export function task(node_type: string, given: Record<string, unknown>, more: Partial<ComputeTask> = {}): ComputeTask {
  return { node_type, inputs: inputsOf(node_type, given), owner: 'ada', signal: new AbortController().signal, ...more }
}

/** A pattern and a text that occupy a thread for seconds. */
export const SLOW = { pattern: '[\\p{L}\\p{N}]{500}x$', text: `${'é'.repeat(300_000)}x!` }
