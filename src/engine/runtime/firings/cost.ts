// Estimates the processor time of a firing before it begins. This is nearly free: inputs are examined only if a large value arrived, and
// large values were measured when they were produced.

import type { InputValues } from '../../node-api/firing-forms.ts'
import type { NodeType } from '../../node-api/node-type.ts'
import { estimateSize } from '../../node-api/values/measure.ts'

/** The cost in nanoseconds per unit of input size, if the type declares none. */
const DEFAULT_UNIT_COST_NS = 100

/** Firings that take longer, in nanoseconds, run in a compute thread. */
const HEAVY_NS = 4_000_000

/** Constants and texts up to this size make no firing heavy, unless the type computes its cost from the inputs. */
const SMALL_SIZE = 500

function estimateInputSize(inputs: Readonly<InputValues>): number {
  let size = 0
  for (const name in inputs) {
    const value = inputs[name]
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) size += estimateSize(value)
  }
  return size
}

/** Whether a firing would block the main thread for long. */
export function isHeavyFiring({ cost }: NodeType, inputs: Readonly<InputValues>): boolean {
  if (typeof cost === 'function') return cost(inputs) > HEAVY_NS
  return estimateInputSize(inputs) * (cost ?? DEFAULT_UNIT_COST_NS) > HEAVY_NS
}

/** Whether the constants of a node can make its firings heavy even if all values on its edges are small. */
export function mayBeHeavy({ cost }: NodeType, own: Readonly<InputValues>): boolean {
  return typeof cost === 'function' || estimateInputSize(own) > SMALL_SIZE
}

/** Whether a value on an edge is too small to make a firing heavy. */
export function isSmallToken(token: unknown): boolean {
  return typeof token === 'string' ? token.length <= SMALL_SIZE : typeof token !== 'object' || token === null
}
