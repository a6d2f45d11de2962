// Threads that compute, and firings as the engine would give them, for tests.
import { type Compute, createCompute } from '../../src/compute/compute.ts'
import type { ComputeTask } from '../../src/engine/services.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'

export const compute: Compute = createCompute({ workers: 2 })

/** The inputs of a firing, its defaults filled in. */
export function inputsOf(node_type: string, given: Record<string, unknown>): Record<string, unknown> {
  const defaults = builtinNodes.get(node_type)!.properties.map(({ name, default: own = null }) => [name, own])
  return { ...Object.fromEntries(defaults), ...given }
}

export function task(node_type: string, given: Record<string, unknown>, more: Partial<ComputeTask> = {}): ComputeTask {
  return { node_type, inputs: inputsOf(node_type, given), owner: 'ada', signal: new AbortController().signal, ...more }
}

/** A pattern and a text that keep a thread busy for seconds. */
export const SLOW = { pattern: '[\\p{L}\\p{N}]{500}x$', text: `${'é'.repeat(300_000)}x!` }
