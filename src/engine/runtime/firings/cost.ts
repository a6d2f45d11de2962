// Estimates what a firing takes of the processor, before it begins. It is nearly free for small inputs: only where something came that is
// not small are the inputs looked at, and the size of what is large was measured when it was given.

import type { InputValues, NodeType } from '../../node-api/node-type.ts'
import { estimateSize } from '../../node-api/values/measure.ts'

/** Nanoseconds for each unit of the size of the inputs, where the type does not say. */
const DEFAULT_UNIT_COST_NS = 100

/** A firing that takes longer than this many nanoseconds runs apart. */
const HEAVY_NS = 4_000_000

/** Own values of this size, and texts of this length, make no firing heavy, unless the type says what it costs by its inputs. */
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

/** Whether a firing would hold the thread for long. */
export function isHeavyFiring({ cost }: NodeType, inputs: Readonly<InputValues>): boolean {
  if (typeof cost === 'function') return cost(inputs) > HEAVY_NS
  return estimateInputSize(inputs) * (cost ?? DEFAULT_UNIT_COST_NS) > HEAVY_NS
}

/** Whether a firing with small values at its edges may be heavy all the same, by the own values of its node. */
export function mayBeHeavy({ cost }: NodeType, own: Readonly<InputValues>): boolean {
  return typeof cost === 'function' || estimateInputSize(own) > SMALL_SIZE
}

/** Whether a value that comes along an edge makes no firing heavy. */
export function isSmallToken(token: unknown): boolean {
  return typeof token === 'string' ? token.length <= SMALL_SIZE : typeof token !== 'object' || token === null
}
