// Estimates what a firing takes of the processor, before it begins. It is nearly free for small inputs: only where something came that is
// not small are the inputs looked at, and the size of what is large was measured when it was given.
import { sizeOf } from './measure.ts'
import type { Inputs, NodeType } from './node-type.ts'

/** Nanoseconds for each unit of the size of the inputs, where the type does not say. */
const COST = 100

/** A firing that takes longer than this many nanoseconds runs apart. */
const HEAVY = 4_000_000

/** Own values of this size, and texts of this length, make no firing heavy, unless the type says what it costs by its inputs. */
const SMALL = 500

function sizeOfInputs(inputs: Readonly<Inputs>): number {
  let size = 0
  for (const name in inputs) {
    const value = inputs[name]
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) size += sizeOf(value)
  }
  return size
}

/** Whether a firing would hold the thread for long. */
export function isHeavy({ cost }: NodeType, inputs: Readonly<Inputs>): boolean {
  if (typeof cost === 'function') return cost(inputs) > HEAVY
  return sizeOfInputs(inputs) * (cost ?? COST) > HEAVY
}

/** Whether a firing with small values at its edges may be heavy all the same, by the own values of its node. */
export function mayBeHeavy({ cost }: NodeType, own: Readonly<Inputs>): boolean {
  return typeof cost === 'function' || sizeOfInputs(own) > SMALL
}

/** Whether a value that comes along an edge makes no firing heavy. */
export function isSmall(token: unknown): boolean {
  return typeof token === 'string' ? token.length <= SMALL : typeof token !== 'object' || token === null
}
