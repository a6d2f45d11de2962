// Runs a firing of one node type inside a firing of another, in a worker if it would block the main thread for long.

import type { InputValues, OutputValues } from '../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../engine/node-api/node-context.ts'
import type { NodeType } from '../engine/node-api/node-type.ts'
import { isHeavyFiring } from '../engine/runtime/firings/cost.ts'

/**
 * The outputs of a pure node type for inputs that `prepare` has prepared, if the type has one. @throws as its `run`, and
 * `ComputeAccess.run`
 */
export async function runInWorkerIfHeavy(
  type: NodeType,
  inputs: InputValues,
  { services, run, signal }: NodeContext,
): Promise<OutputValues> {
  const { compute, owner } = services
  if (!compute.takes(type) || !isHeavyFiring(type, inputs))
    return (type.run as (inputs: InputValues) => OutputValues)(inputs)
  return compute.run({ node_type: type.node_type, inputs, owner, run, signal })
}
