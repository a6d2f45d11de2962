// The inputs of one firing, out of what its join holds for the present path.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { InputValues } from '../../node-api/node-type.ts'
import { checkConformanceSteps, needsConformanceSteps } from '../../node-api/values/type-conformance-steps.ts'
import type { TypeMetadata } from '../../node-api/values/type-metadata.ts'
import type { InputJoin } from '../streams/input-join.ts'
import { FailureToken, NO_VALUE } from '../streams/tokens.ts'
import { coerceInput } from './result-validation.ts'

/**
 * The inputs, or null where the path gives no firing: all connected inputs got nothing, or one that has no other value
 * did. A failure where one came along an edge that does not catch it. Throws NodeError where a value doesn't fit.
 */
export function gatherInputs(
  node: PlanNode,
  join: InputJoin,
  constants: InputValues,
): InputValues | FailureToken | null {
  const inputs = { ...constants }
  const { slots, joinedSlots: joined } = node
  let nothing = 0
  let skipped = false
  for (const at of joined) {
    const slot = slots[at]!
    if (slot.aggregate) continue
    const token = join.tokenOf(at)
    if (token === NO_VALUE) {
      nothing++
      skipped ||= slot.required
    } else if (token instanceof FailureToken) {
      if (!slot.catches) return token
      inputs[slot.name!] = token
    } else if (slot.name !== null) inputs[slot.name] = coerceInput(node, slot, token)
  }
  const connected = node.type.loop ? joined.length : slots.length
  return skipped || (nothing > 0 && nothing === connected) ? null : inputs
}

/** What is to be done before `gather`, in steps, as large values of the present path have to be looked into; null where there are none. */
export function checkInputsSteps({ slots, joinedSlots: joined }: PlanNode, join: InputJoin): Steps<void> | null {
  const large: (readonly [object, TypeMetadata])[] = []
  for (const at of joined) {
    const { coerce, type, aggregate } = slots[at]!
    if (coerce === null || aggregate) continue
    const token = join.tokenOf(at)
    if (needsConformanceSteps(token, type)) large.push([token, type])
  }
  return large.length === 0 ? null : checkLargeInputs(large)
}

function* checkLargeInputs(large: readonly (readonly [object, TypeMetadata])[]): Steps<void> {
  for (const [value, type] of large) yield* checkConformanceSteps(value, type)
}

/** The failure that a path without a firing has among its inputs all the same, or null. */
export function findInputFailure(node: PlanNode, join: InputJoin): FailureToken | null {
  for (const at of node.joinedSlots) {
    const token = join.tokenOf(at)
    if (token instanceof FailureToken && !node.slots[at]!.aggregate) return token
  }
  return null
}
