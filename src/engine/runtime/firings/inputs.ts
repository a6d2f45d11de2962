// Builds the inputs of one firing from the tokens of its join at the current path.
import type { Steps } from '../../../shared/time-slices.ts'
import type { PlanNode } from '../../compile/plan.ts'
import type { InputValues } from '../../node-api/firing-forms.ts'
import { checkConformanceSteps, needsConformanceSteps } from '../../node-api/values/type-conformance-steps.ts'
import type { TypeMetadata } from '../../node-api/values/type-metadata.ts'
import type { InputJoin } from '../streams/input-join.ts'
import { FailureToken, NO_VALUE } from '../streams/tokens.ts'
import { coerceInput } from './result-validation.ts'

/**
 * The inputs; null if the path gives no firing, because all connected inputs, or a required one, have no value; or a failure that arrived
 * on an edge that does not catch it. Throws NodeError if a value does not fit.
 */
export function gatherInputs(
  node: PlanNode,
  join: InputJoin,
  constants: InputValues,
): InputValues | FailureToken | null {
  const inputs = { ...constants }
  const { slots, joinedSlots } = node
  let nothing = 0
  let skipped = false
  for (const at of joinedSlots) {
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
  const connected = node.type.loop ? joinedSlots.length : slots.length
  return skipped || (nothing > 0 && nothing === connected) ? null : inputs
}

/** Steps that check large values of the current path before `gatherInputs`; null if there are none. */
export function checkInputsSteps({ slots, joinedSlots }: PlanNode, join: InputJoin): Steps<void> | null {
  const large: (readonly [object, TypeMetadata])[] = []
  for (const at of joinedSlots) {
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

/** The failure among the inputs of a path that gives no firing, or null. */
export function findInputFailure(node: PlanNode, join: InputJoin): FailureToken | null {
  for (const at of node.joinedSlots) {
    const token = join.tokenOf(at)
    if (token instanceof FailureToken && !node.slots[at]!.aggregate) return token
  }
  return null
}
