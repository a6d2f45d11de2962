// A firing of one node type inside of another one's: apart from the main thread where it would hold that for long.

import type { InputValues, NodeContext, NodeType, OutputValues } from '../engine/node-api/node-type.ts'
import { isHeavyFiring } from '../engine/runtime/firings/cost.ts'

/** What a pure node type gives for some inputs, as `prepare` gives them where it has one. @throws as its `run`, and `ComputeAccess.run` */
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
