// The inputs of one firing, out of what its join holds for the present path.
import type { Steps } from '../time-slices.ts'
import { conformSteps, takesSteps } from './conform-steps.ts'
import type { Join } from './join.ts'
import type { Inputs } from './node-type.ts'
import type { PlanNode } from './plan-parts.ts'
import { coerced } from './results.ts'
import { Failure, NOTHING } from './tokens.ts'
import type { TypeMetadata } from './types.ts'

/**
 * The inputs, or null where the path gives no firing: all connected inputs got nothing, or one that has no other value
 * did. A failure where one came along an edge that does not catch it. Throws NodeError where a value doesn't fit.
 */
export function gather(node: PlanNode, join: Join, constants: Inputs): Inputs | Failure | null {
  const inputs = { ...constants }
  const { slots, joined } = node
  let nothing = 0
  let skipped = false
  for (const at of joined) {
    const slot = slots[at]!
    if (slot.aggregate) continue
    const token = join.token(at)
    if (token === NOTHING) {
      nothing++
      skipped ||= slot.required
    } else if (token instanceof Failure) {
      if (!slot.catches) return token
      inputs[slot.name!] = token
    } else if (slot.name !== null) inputs[slot.name] = coerced(node, slot, token)
  }
  const connected = node.type.loop ? joined.length : slots.length
  return skipped || (nothing > 0 && nothing === connected) ? null : inputs
}

/** What is to be done before `gather`, in steps, as large values of the present path have to be looked into; null where there are none. */
export function lookSteps({ slots, joined }: PlanNode, join: Join): Steps<void> | null {
  const large: (readonly [object, TypeMetadata])[] = []
  for (const at of joined) {
    const { coerce, type, aggregate } = slots[at]!
    if (coerce === null || aggregate) continue
    const token = join.token(at)
    if (takesSteps(token, type)) large.push([token, type])
  }
  return large.length === 0 ? null : looking(large)
}

function* looking(large: readonly (readonly [object, TypeMetadata])[]): Steps<void> {
  for (const [value, type] of large) yield* conformSteps(value, type)
}

/** The failure that a path without a firing has among its inputs all the same, or null. */
export function failureAmong(node: PlanNode, join: Join): Failure | null {
  for (const at of node.joined) {
    const token = join.token(at)
    if (token instanceof Failure && !node.slots[at]!.aggregate) return token
  }
  return null
}
